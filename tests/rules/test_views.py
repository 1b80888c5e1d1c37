"""Views that merge and split dims: the origin of each dim of the result."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core import names as naming
from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.annotated import HEADS, B, D, S, T, annotated, run, told

C, H, W, P, G = map(symbol, "chwpg")


@pytest.mark.parametrize(
    ("text", "sizes", "result"),
    [
        ("b t heads*d", (B, T, HEADS, D), "b t heads d"),
        ("b t heads*d", (B, T, HEADS, -1), "b t heads d"),
        ("b t heads*d", (B, -1, HEADS, D), "b t heads d"),
        ("b t heads*d", (B, HEADS, T, D), "NC115"),
        ("b t heads*d", (B, HEADS, -1, D), "NC115"),
        ("b t heads*d", (B, T, D, HEADS), "NC115"),
        ("b t d", (B, T, HEADS, D // HEADS), "b t heads _=d//heads"),
        ("b t d", (B, HEADS, T, D // HEADS), "NC115"),
        ("b t d", (B, T, HEADS, -1), "b t heads _=d//heads"),
        ("b t d", (B, HEADS, T, S), "b heads t s"),
        ("b t heads d", (B, T, HEADS * D), "b t heads*d"),
        ("b t heads d", (B, T, -1), "b t heads*d"),
        ("b heads t d", (B, T, HEADS * D), "NC115"),
        ("b heads t d", (B, T, -1), "NC115"),
        ("b heads t d", (B * HEADS, T, D), "b*heads t d"),
        ("b heads t d", (-1, T, D), "b*heads t d"),
        ("b t d", (-1, D), "b*t d"),
        ("b t d", (B, -1), "b t*d"),
        ("b t d", (-1,), "b*t*d"),
        ("b t d", (T, B, D), "NC115"),
        ("n d", (D, N := symbol("n")), "NC115"),
        ("b t d", (B, T, D, 1), "b t d _=1"),
        ("b t d", (1, B, T, D), "_=1 b t d"),
        ("b c h w", (B, C, H * W), "b c h*w"),
        ("b c h w", (B, G, C // G, H, W), "b g _=c//g h w"),
        ("b c h w", (B, C, H // P, P, W // P, P), "b c _=h//p p _=w//p p"),
        ("b c h w", (B, 2, -1, H, W), "b _=2 c//2 h w"),
        ("b t 4", (B, T, 2, 2), "b t _=2 _=2"),
        ("b t 4", (B, T, 3), "NC201"),
        ("b t d", (B, T, UNKNOWN, UNKNOWN), "b t ? ?"),
        ("b t? d", (B, -1, D), "b t d"),
        ("b t? d", (B, -1), "b ?"),
        ("a 2", (2, symbol("a")), "NC115"),
        ("n n", (N, N), "n n"),
    ],
)
def test_views_of_axes(text: str, sizes: tuple[Any, ...], result: str) -> None:
    assert run("view", f":{text}", *sizes) == result
    assert run("reshape", f":{text}", sizes) == result


def test_the_transpose_after_the_view_is_right() -> None:
    split = infer("view", annotated("b t heads*d"), B, T, HEADS, D).result
    assert told(infer("transpose", split, 1, 2)) == "b heads t d"


def test_a_cut_that_is_put_together_again() -> None:
    parts = infer("view", annotated("b c h w"), B, G, C // G, H, W).result
    shuffled = infer("transpose", parts, 1, 2).result
    assert told(infer("reshape", shuffled, B, -1, H, W)) == "b c h w"


@pytest.mark.parametrize(
    ("sizes", "result"),
    [
        ((2, 12), "N=2 _=12"),
        ((6, 4), "_=6 T=4"),
        ((2, 3, 2, 2), "N=2 C=3 _=2 _=2"),
        ((2, -1, 4), "N=2 C=3 T=4"),
        ((3, 2, 4), "_=3 _=2 T=4"),
        ((2, 1, 3, 4), "N=2 _=1 C=3 T=4"),
        ((5, 5), "NC201"),
        ((-1, 5), "NC201"),
    ],
)
def test_labels_of_dims_that_are_kept_whole_stay(sizes: tuple[int, ...], result: str) -> None:
    assert run("view", Tensor(Dims.of("N", "C", "T", sizes=(2, 3, 4))), *sizes) == result


def test_what_is_not_known_is_not_claimed() -> None:
    assert run("view", Tensor(Dims.of("N", "C")), 2, 3) == "?=2 ?=3"
    assert run("view", Tensor(), 2, T) == "?=2 t"
    assert run("view", Tensor(Dims.of("N", "C")), UNKNOWN) == "..."


@pytest.mark.parametrize(
    ("text", "sizes", "result"),
    [
        ("b heads*d", (HEADS, D), "b heads d"),
        ("b heads*d", (-1, D), "b heads d"),
        ("b heads*d", (D, HEADS), "NC115"),
        ("b d", (HEADS, -1), "b heads _=d//heads"),
        ("b 6", (2, -1), "b _=2 _=3"),
        ("b 6", (4, 2), "NC204"),
    ],
)
def test_unflatten(text: str, sizes: tuple[Any, ...], result: str) -> None:
    assert run("unflatten", f":{text}", -1, sizes) == result


def test_what_only_the_code_names_may_be_empty() -> None:
    observed = symbol(naming.of_unpacking("b", 7))
    tensor = Tensor(Dims.of(None, None, sizes=(observed, 4)))
    declared = Tensor(Dims.of(None, None, sizes=(B, 4)))
    assert infer("view", tensor, -1, 0).contradiction is None
    assert infer("view", declared, -1, 0).contradiction is not None
