"""Fourier transforms: the sizes of their results equal those of torch."""

from __future__ import annotations

import itertools
from typing import Any, Final

import pytest
import torch

from namecheck.core.dims import Dims
from namecheck.core.tensors import Tensor
from namecheck.operators import infer

KINDS: Final = ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft")
SHAPES: Final = ((4,), (4, 5), (3, 4, 5), (2, 6))
OF_ONE: Final[tuple[dict[str, Any], ...]] = ({}, {"n": 7}, {"dim": 0}, {"n": 3, "dim": 0})
OF_MANY: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"s": (3,)},
    {"s": (4, 3)},
    {"dim": (0,)},
    {"s": (-1, 3), "dim": (0, 1)},
    {"dim": -1},
    {"dim": (1, 0)},
    {"s": [2, 2], "dim": [-1, -2]},
)


@pytest.mark.parametrize(("kind", "space"), list(itertools.product(KINDS, ("", "2", "n"))))
def test_sizes_are_those_of_torch(kind: str, space: str) -> None:
    compared = 0
    for shape, options in itertools.product(SHAPES, OF_MANY if space else OF_ONE):
        dtype = torch.float32 if kind in ("rfft", "ihfft") else torch.complex64
        try:
            real = getattr(torch.fft, kind + space)(torch.ones(shape, dtype=dtype), **options)
        except (RuntimeError, IndexError):
            continue
        given = Tensor(Dims.of(*"ABC"[: len(shape)], sizes=shape))
        answer = infer(f"torch.fft.{kind}{space}", given, **options)
        assert answer.result.dims.names == tuple("ABC"[: len(shape)])
        assert answer.result.dims.sizes == tuple(real.shape), (shape, options)
        compared += 1
    assert compared > 12
