"""Convolutions, pooling, padding and sampling: channels change, spatial dims keep their names."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.annotated import annotated, run, told

C, H, W, OUT = map(symbol, ("c", "h", "w", "out"))


@pytest.mark.parametrize(
    ("operator", "args", "result"),
    [
        ("nn.functional.conv2d", (":b c h w", ":out c 3 3"), "b out h-2 w-2"),
        ("nn.functional.conv2d", (":b h w c", ":out c 3 3"), "NC101"),
        ("nn.functional.conv2d", (":b c h w", ":out c 3 3", None, 1, 1), "b out h w"),
        ("nn.functional.conv2d", (":b c h w", ":out c 3 3", None, 1, "same"), "b out h w"),
        ("nn.functional.conv2d", (":b c h w", ":out c 3 3", None, 2, 1), "b out (h+1)//2 (w+1)//2"),
        ("nn.functional.conv2d", (":c h w", ":out c 1 1"), "out h w"),
        ("nn.functional.conv2d", (":c h", ":out c 1 1"), "NC207"),
        ("nn.functional.conv2d", (":b c h w", ":out c 3"), "NC207"),
        ("nn.functional.conv2d", (":b 3 h w", ":out 4 1 1"), "NC202"),
        ("nn.functional.conv_transpose1d", (":b c t", ":c out 4", None, 2, 1), "b out 2*t"),
        ("nn.functional.conv_transpose1d", (":b t c", ":c out 4"), "NC101"),
        ("nn.Conv2d", (C, OUT, 3, ":b c h w"), "b out h-2 w-2"),
        ("nn.Conv2d", (OUT, C, 3, ":b c h w"), "NC101"),
        ("nn.Conv2d", (3, 16, 3, ":b 3 h w"), "b _=16 h-2 w-2"),
        ("nn.Conv2d", (3, 16, 3, ":b 4 h w"), "NC202"),
        ("nn.Conv1d", (C, OUT, 5, ":b c t"), "b out t-4"),
        ("nn.ConvTranspose2d", (C, OUT, 2, 2, ":b c h w"), "b out 2*h 2*w"),
        ("nn.functional.max_pool2d", (":b c h w", 2), "b c h//2 w//2"),
        ("nn.functional.max_pool2d", (":b c h w", 3, 1, 1), "b c h w"),
        ("nn.MaxPool1d", (2, ":b c 8"), "b c _=4"),
        ("nn.MaxPool1d", (3, 2, ":b c 8"), "b c _=3"),
        ("nn.AvgPool2d", (2, ":b c h 8"), "b c h//2 _=4"),
        ("nn.AdaptiveAvgPool2d", ((1, 1), ":b c h w"), "b c h=1 w=1"),
        ("nn.AdaptiveAvgPool2d", ((None, 7), ":b c h w"), "b c h w=7"),
        ("nn.functional.pad", (":b c t", (1, 0)), "b c t+1"),
        ("nn.functional.pad", (":b h w", (1, 1, 2, 0)), "b h+2 w+2"),
        ("nn.functional.pad", (":t", (1, 1, 2, 0)), "NC207"),
        ("nn.ZeroPad2d", (1, ":b c h w"), "b c h+2 w+2"),
        ("nn.functional.interpolate", (":b c h w", None, 2), "b c 2*h 2*w"),
        ("nn.functional.interpolate", (":b c x y", (H, W)), "b c h w"),
        ("nn.functional.interpolate", (":b c h w", None, 0.5), "b c h w"),
        ("nn.PixelShuffle", (2, ":b 12 h w"), "b _=3 2*h 2*w"),
        ("nn.PixelUnshuffle", (2, ":b 3 h w"), "b _=12 h//2 w//2"),
        ("nn.functional.grid_sample", (":b c h w", ":b x y 2"), "b c x y"),
        ("nn.functional.grid_sample", (":b c h w", ":n x y 2"), "NC101"),
        ("nn.functional.unfold", (":b c h w", 3, 1, 1), "b 9*c h*w"),
        ("nn.functional.unfold", (":b c h w", 2, 1, 0, 2), "b 4*c _=h//2*w//2"),
        ("nn.functional.unfold", (":b 3 8 8", 2, 1, 0, 2), "b _=12 _=16"),
        ("nn.functional.unfold", (":b c h w", UNKNOWN), "b c ?"),
        ("nn.functional.unfold", (":h w", 3), "NC207"),
        ("nn.Fold", ((H, W), 3, ":b k 4"), "b k//9 h w"),
        ("nn.Fold", ((H, W), 2, ":b 12 l"), "b _=3 h w"),
        ("nn.Fold", ((H, W), 2, ":l"), "NC207"),
        ("nn.functional.glu", (":b 2*d", -1), "b d"),
    ],
)
def test_spatial_operators(operator: str, args: tuple[Any, ...], result: str) -> None:
    assert run(operator, *args) == result


def test_labels_stay_along_the_spatial_dims() -> None:
    image = Tensor(Dims.of("N", "C", "H", "W", sizes=(2, 3, 8, 8)))
    assert told(infer("nn.Conv2d", 3, 16, 3, image)) == "N=2 _=16 H=6 W=6"
    weight = Tensor(Dims.of("out", "in", None, None, sizes=(16, 3, 3, 3)))
    assert told(infer("conv2d", image, weight)) == "N=2 out=16 H=6 W=6"
    assert told(infer("nn.MaxPool2d", 2, image)) == "N=2 C=3 H=4 W=4"


def test_what_is_not_known_is_not_claimed() -> None:
    assert told(infer("nn.Conv2d", UNKNOWN, UNKNOWN, UNKNOWN, annotated("b c h w"))) == "b _ h w"
    assert told(infer("nn.Conv2d", C, OUT, 3, Tensor())) == "... out ? ?"
    assert told(infer("nn.MaxPool2d", 2, Tensor())) == "... ? ?"
