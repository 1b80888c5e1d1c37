"""Permutes dimensions (name_inference.rst, the section of this name)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dims import ANYWHERE, MIDDLE, Dim, Dims, Position, locate, of_rank
from namecheck.core.names import Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules import dim_map
from namecheck.rules.arguments import DimArgument, DimArguments
from namecheck.rules.dim_map import Source, reaching, rearrange
from namecheck.rules.registry import rule


@rule(memory="moves")
def permutes_dimensions(input: Tensor, dim0: DimArgument, dim1: DimArgument) -> Dims:
    """Two dims are swapped (name_inference.rst, same title)."""
    if _is_name(dim0) and _is_name(dim1):  # torch looks up the second name first
        locate(input.dims, dim1)
    dims = reaching(reaching(input.dims, dim0), dim1)
    return _swapped(dims, locate(dims, dim0), locate(dims, dim1))


def _is_name(dim: DimArgument) -> bool:
    return dim is None or isinstance(dim, str)


def _swapped(dims: Dims, first: Position, second: Position) -> Dims:
    if ANYWHERE in (first, second):
        return dim_map.in_some_order(dims)
    if first is MIDDLE or second is MIDDLE:
        return _swapped_with_middle(dims, first, second)
    if not dims.known or not isinstance(first, int) or not isinstance(second, int):
        return dims  # a 0-d tensor takes the index 0 or -1, and stays as it is
    sources = dim_map.everywhere(dims)
    one, other = sources.index(first), sources.index(second)
    sources[one], sources[other] = second, first
    return rearrange(dims, sources)


def _swapped_with_middle(dims: Dims, first: Position, second: Position) -> Dims:
    """Swap a dim of the open middle, given by name, with a dim at a known position."""
    for place in (first, second):
        if isinstance(place, int):
            return dims.replace(place, Dim())
    return dims


@rule(memory="moves")
def transposes_matrix(input: Tensor) -> Dims:
    """``t()``: the two dims of a matrix are swapped; a vector is unchanged (torch.t)."""
    return _transposed_matrix(input.dims, "t")


@rule(memory="moves")
def transposes_matrix_in_place(input: Tensor) -> Dims:
    """As `transposes_matrix`, with ``t_()`` in the error message."""
    return _transposed_matrix(input.dims, "t_")


def _transposed_matrix(dims: Dims, call: str) -> Dims:
    if dims.min_rank > 2:
        raise Contradiction(
            "NC207",
            f"{call}() expects a tensor with <= 2 dimensions, but self is "
            f"{dim_map.show_rank(dims)}D",
            help="Use `transpose`, or `mT` for batches of matrices.",
        )
    return _reversed(dims)


def _reversed(dims: Dims) -> Dims:
    return rearrange(dims, dim_map.everywhere(dims, backwards=True))


@rule(memory="moves")
def reverses_dimensions(input: Tensor) -> Dims:
    """``T``: all dims in reverse order (torch.Tensor.T)."""
    return _reversed(input.dims)


@rule(memory="moves")
def transposes_single_matrix(input: Tensor) -> Dims:
    """``H``: the two dims of a matrix are swapped (torch.Tensor.H)."""
    dims = input.dims
    if dims.rank == 1 or dims.min_rank > 2:
        hint = "" if dims.rank == 1 else " For batches of matrices, consider using tensor.mH"
        raise Contradiction(
            "NC207",
            "tensor.H is only supported on matrices (2-D tensors). "
            f"Got {dim_map.show_rank(dims)}-D tensor.{hint}",
            help="Use `mH` for batches of matrices.",
        )
    return reverses_dimensions(input)


@rule(memory="moves")
def transposes_last_two(input: Tensor) -> Dims:
    """``mT``: the last two dims are swapped (torch.Tensor.mT)."""
    return _last_two_swapped(input.dims, "tensor.mT")


@rule(memory="moves")
def transposes_last_two_adjoint(input: Tensor) -> Dims:
    """As `transposes_last_two`, with ``mH`` in the error message."""
    return _last_two_swapped(input.dims, "tensor.mH")


@rule(memory="moves")
def adjoint(input: Tensor) -> Dims:
    """``adjoint()``: the last two dims are swapped (torch.adjoint)."""
    return _last_two_swapped(input.dims, "tensor.adjoint()")


def _last_two_swapped(dims: Dims, call: str) -> Dims:
    if dims.rank == 1:
        raise Contradiction(
            "NC207",
            f"{call} is only supported on matrices or batches of matrices. Got 1-D tensor.",
            help="A vector has no two dims to transpose; `unsqueeze` it first.",
        )
    if not dims.min_rank:
        return dims  # a scalar is unchanged
    last = dim_map.last(dims, 2)
    swapped = Dims(last.prefix[::-1])
    return dim_map.joined(dim_map.without_right(dims, 2), swapped)


@rule(memory="moves")
def permute(input: Tensor, dims: Sequence[DimArgument] | Unknown) -> Dims:
    """All dims in the given order (torch.permute)."""
    if isinstance(dims, Unknown):
        return dim_map.in_some_order(input.dims)
    closed = of_rank(input.dims, len(dims))
    if closed is None:
        raise Contradiction(
            "NC207",
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            "length of the desired ordering of dimensions i.e. input.dim() = "
            f"{dim_map.show_rank(input.dims)} is not equal to len(dims) = {len(dims)}",
            help=f"Give all dims of {input.dims.show()}.",
        )
    places = [locate(closed, dim) for dim in dims]
    fixed = [place for place in places if isinstance(place, int)]
    if len(set(fixed)) < len(fixed):
        raise Contradiction("NC104", "permute(): duplicate dims are not allowed.")
    if len(fixed) < len(places):
        return _partly_permuted(closed, places)
    return rearrange(closed, fixed)


def _partly_permuted(dims: Dims, places: Sequence[Position]) -> Dims:
    """The dims at known positions; any of the others at the rest."""
    known_places = {place for place in places if isinstance(place, int)}
    remaining = Dims(tuple(dim for place, dim in dims.walk() if place not in known_places))
    others = iter(dim_map.in_some_order(remaining).prefix)
    return Dims(tuple(dims[p] if isinstance(p, int) else next(others) for p in places))


@rule(memory="moves")
def movedim(
    input: Tensor,
    source: Any,
    destination: Any,
) -> Dims:
    """Some dims are moved to other positions; the others keep their order (torch.movedim)."""
    if isinstance(source, Unknown) or isinstance(destination, Unknown):
        return dim_map.in_some_order(input.dims)
    sources, targets = _as_list(source), _as_list(destination)
    if len(sources) != len(targets):
        raise Contradiction(
            "NC114",
            f"movedim: Invalid source or destination dims: source ({_listed(sources)} dims) should "
            f"contain the same number of dims as destination ({_listed(targets)} dims)",
        )
    origin = [locate(input.dims, dim) for dim in sources]
    goal = [locate(input.dims, dim) for dim in targets]
    _check_repeated(origin, "source", sources)
    _check_repeated(goal, "destination", targets)
    if input.dims.open or not all(isinstance(place, int) for place in origin + goal):
        return dim_map.in_some_order(input.dims)
    return rearrange(
        input.dims, _moved(len(input.dims.prefix), dict(zip(goal, origin, strict=True)))
    )


def _as_list(dim: DimArgument | DimArguments) -> list[DimArgument]:
    return list(dim) if isinstance(dim, (tuple, list)) else [dim]


def _moved(rank: int, moves: dict[Position, Position]) -> list[Source]:
    staying = iter([place for place in range(rank) if place not in moves.values()])
    moved_dims: list[Source] = []
    for place in range(rank):
        moved = moves.get(place)
        moved_dims.append(moved if isinstance(moved, int) else next(staying))
    return moved_dims


def _check_repeated(
    places: Sequence[Position], role: str, dim_arguments: Sequence[DimArgument]
) -> None:
    fixed = [place for place in places if isinstance(place, int)]
    if len(set(fixed)) < len(fixed):
        raise Contradiction(
            "NC104", f"movedim: repeated dim in `{role}` ({_listed(dim_arguments)})"
        )


def _listed(dim_arguments: Sequence[DimArgument]) -> str:
    words = [
        naming.show_name(argument) if not isinstance(argument, int) else str(argument)
        for argument in dim_arguments
    ]
    return "[" + ", ".join(words) + "]"
