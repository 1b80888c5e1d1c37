"""Removes dimensions (name_inference.rst, the section of this name)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from namecheck.names import UNKNOWN, Contradiction, Unknown
from namecheck.rules.registry import rule
from namecheck.values import OPEN, SCALAR, Dim, Dims, Position, Tensor, locate

Axis = int | str | Unknown


@rule
def removes_dimensions(
    input: Tensor,
    dim: Axis | Sequence[Axis] | None = None,
    keepdim: bool | Unknown = False,
) -> Dims:
    """The input's dims without those reduced over (name_inference.rst, same title)."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return _reduce_all(input.dims, keepdim)
    wanted: list[Axis] = list(dim) if isinstance(dim, (tuple, list)) else [dim]  # type: ignore[list-item]
    return reduce(input.dims, positions(input.dims, wanted), keepdim)


def _reduce_all(dims: Dims, keepdim: bool | Unknown) -> Dims:
    if keepdim is False:
        return SCALAR
    if keepdim is True:
        return Dims(*(tuple(map(_kept, part)) for part in (dims.prefix, dims.suffix)), dims.open)
    return OPEN


def _kept(dim: Dim) -> Dim:
    return replace(dim, size=1, purposeful=True)


def positions(dims: Dims, wanted: Sequence[Axis]) -> list[Position]:
    """Where the dims to be reduced stand; a dim given twice is a contradiction, as natively."""
    found = [locate(dims, dim) for dim in wanted]
    for index, position in enumerate(found):
        if isinstance(position, int) and position in found[:index]:
            raise Contradiction(
                "NC104", f"dim {position} appears multiple times in the list of dims"
            )
    return found


def reduce(dims: Dims, places: Sequence[Position], keepdim: bool | Unknown) -> Dims:
    """The dims without those at `places`, or with size 1 there."""
    if keepdim is UNKNOWN:
        return OPEN
    if keepdim:
        for place in places:
            dims = dims.replace(place, _kept(dims[place]))
        return dims
    fixed = sorted((p for p in places if isinstance(p, int)), key=lambda p: (p < 0, -p if p >= 0 else p))
    for place in fixed:
        dims = dims.without(place)
    for place in places:
        if not isinstance(place, int):
            dims = dims.without(place)
    return dims
