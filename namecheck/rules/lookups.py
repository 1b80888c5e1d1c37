"""Elements read and written by an index tensor: ``gather``, ``scatter``, ``index_select``.

Input, index and source have the same dims, except for the indexed one.
"""

from __future__ import annotations

from typing import Any

from namecheck.core.dataclasses import replace
from namecheck.core.dims import OPEN, Dim, Dims, Position, clash, locate
from namecheck.core.names import UNKNOWN, Contradiction, Name, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import DimArgument, TensorOrNumber
from namecheck.rules.broadcasting import broadcast, check_one
from namecheck.rules.dim_map import of_one_rank
from namecheck.rules.registry import rule
from namecheck.rules.views import flat


@rule(memory="fresh")
def gather(input: Tensor, dim: DimArgument, indices: Tensor) -> Dims:
    """The dims of the index, under the input's names but for an axis at `dim` (torch.gather)."""
    place = locate(input.dims, dim)
    _check_ranks(input.dims, indices.dims)
    if input.dims.rank == 1 and indices.dims.rank == 0:
        return indices.dims
    dims, index_dims = of_one_rank(input.dims, indices.dims)
    if dims.rank is None or dims.rank != index_dims.rank:
        several = max(dims.min_rank, index_dims.min_rank) > 1  # so that both ranks agree
        return _vague(dims) if dims.open and several else OPEN
    place = locate(dims, dim)
    pairs = list(zip(dims.prefix, index_dims.prefix, strict=True))
    if isinstance(place, int):
        _check_others("gather", dims, index_dims, place)
        picked = [_picked(*pair) if n == place else _kept(*pair) for n, pair in enumerate(pairs)]
    else:
        picked = [_either(*pair) for pair in pairs]
    return Dims(tuple(picked))


def _check_ranks(dims: Dims, index_dims: Dims, role: str = "input") -> None:
    ranks = dims.rank, index_dims.rank
    if any(map(_may_be_missing, index_dims.known)):
        return  # torch does not check it if there is nothing to read (recorded: gather, scatter)
    if None not in ranks and max(ranks[0] or 0, 1) != max(ranks[1] or 0, 1):
        raise Contradiction(
            "NC207",
            f"Index tensor must have the same number of dimensions as {role} tensor",
            help="Give an index for every element of the result.",
        )


def _may_be_missing(dim: Dim) -> bool:
    """Whether a dim may have the size 0, as the rows of ``argwhere`` that no name declares."""
    return dim.size == 0 or (dim.size is UNKNOWN and dim.name is None)


def _check_others(call: str, dims: Dims, others: Dims, place: Position) -> None:
    """Refuse dims whose names differ, at any position but the indexed one."""
    if dims.rank is None or dims.rank != others.rank or not isinstance(place, int):
        return
    for position, (own, other) in enumerate(zip(dims.prefix, others.prefix, strict=True)):
        if position != place and clash(own, other):
            check_one(call, "the dims of the input and of the index or source", own, other)


def _picked(own: Dim, indexed: Dim) -> Dim:
    """The indexed dim: a label is kept, an axis becomes the index's dim."""
    if isinstance(own.name, (str, Unknown)):
        return Dim(own.name, indexed.size)
    return Dim(None if isinstance(indexed.name, str) else indexed.name, indexed.size)


def _kept(own: Dim, indexed: Dim) -> Dim:
    return Dim(own.name if own.name is not None else indexed.name, indexed.size)


def _either(own: Dim, indexed: Dim) -> Dim:
    """A dim that may be the indexed one."""
    kept, picked = _kept(own, indexed).name, _picked(own, indexed).name
    return Dim(kept if kept == picked else UNKNOWN, indexed.size)


def _vague(dims: Dims) -> Dims:
    """The dims where any may be the indexed one: labels are kept."""
    kept_labels: list[Name] = [label if isinstance(label, str) else UNKNOWN for label in dims.names]
    return dims.rename(kept_labels).sizeless()


@rule(memory="unknown", overlaps="refused")
def scatters(
    input: Tensor, dim: DimArgument, indices: Tensor, src: TensorOrNumber | None = None
) -> Dims:
    """The input's dims; index and source have the same, except at `dim` (torch.scatter)."""
    place = locate(input.dims, dim)
    _check_ranks(input.dims, indices.dims, "self")
    _check_others("scatter", input.dims, indices.dims, place)
    if isinstance(src, Tensor):
        _check_others("scatter", input.dims, src.dims, place)
    return input.dims


@rule(memory="unknown", overlaps="refused")
def writes_along(input: Tensor, dim: DimArgument, indices: Tensor, source: Any = None) -> Dims:
    """The input's dims; source and index have one size along `dim` (torch.index_add)."""
    place = locate(input.dims, dim)
    if not isinstance(source, Tensor) or input.dims.rank is None or not isinstance(place, int):
        return input.dims
    _check_others("index_add", input.dims, source.dims, place)
    if source.dims.rank == input.dims.rank and indices.dims.rank == 1 and source.dims.prefix:
        what = "the index and the source at the dim that is indexed"
        check_one("index_add", what, indices.dims.prefix[0], source.dims[place], by_label=False)
    return input.dims


@rule(memory="fresh")
def index_select(input: Tensor, dim: DimArgument, indices: Tensor) -> Dims:
    """The input's dims, with those of the index along `dim` (torch.index_select)."""
    place = locate(input.dims, dim)
    if not input.dims.known and not input.dims.open:
        return input.dims
    if indices.dims.min_rank > 1:
        raise Contradiction(
            "NC207",
            "index_select(): Index is supposed to be a vector",
            help=f"The dims of the index are {indices.dims.show()}.",
        )
    own = indices.dims.prefix[0] if indices.dims.rank == 1 else Dim(UNKNOWN)
    if indices.dims.rank == 0:
        own = Dim(None, 1)
    if not isinstance(place, int):
        return _vague(input.dims)
    return input.dims.replace(place, _picked(input.dims[place], own))


@rule(memory="unknown")
def take_along_dim(input: Tensor, indices: Tensor, dim: DimArgument = None) -> Dims:
    """Input and indices broadcast, except at `dim`; without it both are flat (take_along_dim)."""
    if dim is None:
        return flat(indices)
    if isinstance(dim, Unknown):
        return OPEN
    place = locate(input.dims, dim)
    if input.dims.rank is None or indices.dims.rank is None or not isinstance(place, int):
        return OPEN
    if input.dims.rank != indices.dims.rank:
        raise Contradiction(
            "NC207",
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.dims.rank} dimensions for input, and {indices.dims.rank} dimensions "
            "for indices",
            help="Give an index for every element of the result.",
        )
    if not input.dims.prefix:
        return indices.dims
    own, picked = input.dims[place], indices.dims[place]
    hole = Dim(None, 1, purposeful=True)
    whole = broadcast(input.dims.replace(place, hole), indices.dims.replace(place, hole))
    return whole.replace(place, _picked(own, replace(picked, purposeful=False)))
