"""Operators that run along dimensions and keep them all: cumulative sums, softmax, sort, flip."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from namecheck.core.dims import ANYWHERE, Dim, Dims, Position, Size, locate
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import DimArgument, DimArguments
from namecheck.rules.broadcasting import unify
from namecheck.rules.concatenations import cat
from namecheck.rules.dim_map import with_name
from namecheck.rules.reductions import positions, reduce
from namecheck.rules.registry import rule


@rule(memory="fresh", overlaps="refused")
def keeps_names_along(input: Tensor, dim: DimArgument = -1) -> Dims:
    """The input's dims; `dim` must be one of them (recorded: cumsum, softmax, index_fill)."""
    locate(input.dims, dim)
    return with_name(input.dims, dim)


@rule(memory="fresh")
def keeps_names_of_plane(input: Tensor, dim1: DimArgument = 0, dim2: DimArgument = 1) -> Dims:
    """The input's dims; `dim1` and `dim2` must be two of them (diagonal_scatter)."""
    positions(input.dims, (dim1, dim2))
    return input.dims


@rule(memory="fresh")
def keeps_names_along_optional(input: Tensor, dim: DimArgument = None) -> Dims:
    """The input's dims; `dim`, if given, must be one of them (nn.functional.softmax)."""
    return input.dims if dim is None else keeps_names_along(input, dim)


@rule(memory="unknown")
def keeps_names_along_twice(input: Tensor, dim: DimArgument = -1) -> tuple[Dims, Dims]:
    """Values and indices, both with the input's dims (recorded: cummax; documented: sort)."""
    dims = keeps_names_along(input, dim)
    return dims, dims


@rule(memory="unknown")
def running_extremes(input: Tensor, dim: DimArgument = -1) -> tuple[Dims, Dims]:
    """As `keeps_names_along_twice`; without elements torch looks at no index (cummax, cummin)."""
    if isinstance(dim, int) and 0 in input.dims.sizes:
        return input.dims, input.dims
    return keeps_names_along_twice(input, dim)


@rule(memory="unknown")
def rolled(input: Tensor, dim: DimArgument | DimArguments = ()) -> Dims:
    """The input's dims; all of `dim` must be among them, also several times (torch.roll).

    Without elements torch looks at no index.
    """
    listed = dim if isinstance(dim, (tuple, list)) else (dim,)
    if 0 in input.dims.sizes and not any(isinstance(one, str) for one in listed):
        return input.dims
    if isinstance(dim, (tuple, list)):
        for one in dim:
            locate(input.dims, one)
        return input.dims
    return keeps_names_along_all(input, dim)


@rule(memory="unknown")
def keeps_names_along_all(input: Tensor, dim: DimArgument | DimArguments = None) -> Dims:
    """The input's dims; all of `dim` must be among them, each once (flip, roll, fft)."""
    if dim is not None and not isinstance(dim, Unknown):
        positions(input.dims, dim)
    return input.dims


@rule
def keeps_names_resized_along(input: Tensor, dim: DimArgument = None) -> Dims:
    """The input's dims with another, unknown size at `dim` (index_select, diff, repeat_interleave).

    Without a dim the result is a vector (repeat_interleave, unique).
    """
    if dim is None:
        return Dims.of(None)
    return resized(input.dims, locate(input.dims, dim))


@rule(memory="unknown")
def keeps_names_sizeless(input: Tensor) -> Dims:
    """The input's names with unknown sizes (pooling, padding)."""
    return input.dims.sizeless()


@rule(memory="first")
def index_fill(input: Tensor, dim: DimArgument, indices: Tensor, value: Any) -> Dims:
    """The input's dims, whatever the names of the index (recorded: index_fill)."""
    if isinstance(dim, str):
        locate(input.dims, dim)
    if isinstance(value, Tensor) and value.dims.min_rank:
        raise Contradiction(
            "NC207",
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.dims.min_rank} dimension(s).",
            help="Fill with a number or with a tensor without dimensions.",
        )
    locate(input.dims, dim)
    if indices.dims.min_rank > 1:
        raise Contradiction(
            "NC207", "Index has to be a vector/scalar", help="Give the indices as a vector."
        )
    return input.dims


@rule(memory="unknown")
def diff(
    input: Tensor,
    n: int | Unknown = 1,
    dim: DimArgument = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Dims:
    """The input's dims with `prepend` and `append`, shorter along `dim` (torch.diff)."""
    _check_rank(input.dims, 1, "diff expects input to be at least one-dimensional")
    place = locate(input.dims, dim)
    around = () if n == 0 else (prepend, append)
    parts = [part for part in (*around[:1], input, *around[1:]) if part is not None]
    whole = cat(parts, dim) if len(parts) > 1 else input.dims
    return resized(whole, place, _lessened(whole[place].size, n))


def _lessened(size: Size, n: int | Unknown) -> Size:
    if isinstance(size, Unknown) or isinstance(n, Unknown):
        return UNKNOWN
    remaining = size - n
    return max(remaining, 0) if isinstance(remaining, int) else remaining


@rule
def diff_natively(
    input: Tensor,
    n: int | Unknown = 1,
    dim: DimArgument = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Dims:
    """As `diff`; torch 2.12 unifies the names pair by pair, even if `n` is 0 (recorded: diff)."""
    parts = [part for part in (prepend, input, append) if part is not None]
    for one, other in pairwise(parts):
        unify(one.dims, other.dims, "cat")
    return diff(input, n, dim, prepend, append)


@rule(memory="unknown", aligns="matched")
def trapezoid(y: Tensor, x: Tensor | None = None, dim: DimArgument = -1) -> Dims:
    """The dims of `y` and `x` without `dim` (torch.trapezoid).

    Where `y` has no elements there, torch does not look at `x`.
    """
    _check_dims(y, f"Dimension specified as {dim} but tensor has no dimensions")
    if isinstance(y.dims[own := locate(y.dims, dim)].size, int) and y.dims[own].size == 0:
        return reduce(y.dims, [own], False)
    whole, place = _integrand(y, x, dim)
    return reduce(whole, [place], False)


def _check_dims(y: Tensor, message: str) -> None:
    if y.dims.rank == 0:
        raise Contradiction(
            "NC207", message, error="IndexError", help="There is no dim to integrate along."
        )


def _integrand(y: Tensor, x: Tensor | None, dim: DimArgument) -> tuple[Dims, Position]:
    """The dims integrated, and the position of `dim`; an index counts the dims of `y`."""
    if x is None or x.dims.rank == 1:
        return y.dims, locate(y.dims, dim)
    whole = unify(y.dims, x.dims)
    if x.dims.rank is not None and x.dims.rank <= y.dims.min_rank:
        return whole, locate(whole, dim)
    if not isinstance(dim, int):
        return whole.sizeless(), locate(whole, dim)
    counted = locate(y.dims, dim) if y.dims.rank else ANYWHERE
    return whole.sizeless(), counted


@rule(memory="unknown")
def differs_along(input: Tensor, dim: DimArgument | DimArguments = None) -> tuple[Dims, ...] | Many:
    """The input's dims, once for each dim of the gradient (torch.gradient)."""
    if isinstance(dim, Unknown) or (dim is None and input.dims.rank is None):
        return Many(Tensor(input.dims))
    if dim is None:
        return (input.dims,) * (input.dims.rank or 0)
    return (input.dims,) * len(positions(input.dims, dim))


@rule(memory="unknown", aligns="matched")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, dim: DimArgument = -1) -> Dims:
    """The dims of `y`, shorter by one along `dim` (torch.cumulative_trapezoid)."""
    _check_dims(y, "slice() cannot be applied to a 0-dim tensor.")
    whole, place = _integrand(y, x, dim)
    if x is None or x.dims.rank == 1:
        return resized(whole, place, _lessened(whole[place].size, 1))
    return resized(whole, place)


@rule(memory="unknown")
def keeps_names_of_logits(logits: Tensor, dim: DimArgument = -1) -> Dims:
    """The input's dims (nn.functional.gumbel_softmax)."""
    return keeps_names_along(logits, dim)


@rule(memory="fresh")
def topk(input: Tensor, k: Size, dim: DimArgument = -1) -> tuple[Dims, Dims]:
    """Values and indices with the input's dims, of size `k` along `dim` (torch.topk)."""
    result = resized(input.dims, locate(input.dims, dim), k)
    return result, result


@rule(memory="first")
def fliplr(input: Tensor) -> Dims:
    """The input's dims; at least two (torch.fliplr)."""
    _check_rank(input.dims, 2, "Input must be >= 2-d.")
    return input.dims


@rule(memory="first")
def flipud(input: Tensor) -> Dims:
    """The input's dims; at least one (torch.flipud)."""
    _check_rank(input.dims, 1, "Input must be >= 1-d.")
    return input.dims


@rule(memory="unknown")
def tril(input: Tensor) -> Dims:
    """The input's dims; at least two (torch.tril)."""
    _check_rank(input.dims, 2, "tril: input tensor must have at least 2 dimensions")
    return input.dims


@rule(memory="unknown")
def triu(input: Tensor) -> Dims:
    """The input's dims; at least two (torch.triu)."""
    _check_rank(input.dims, 2, "triu: input tensor must have at least 2 dimensions")
    return input.dims


def _check_rank(dims: Dims, least: int, message: str) -> None:
    if dims.rank is not None and dims.rank < least:
        raise Contradiction(
            "NC207",
            message,
            help=f"The tensor needs {least} dimension{'' if least == 1 else 's'} at least.",
        )


@rule(memory="unknown")
def rot90(
    input: Tensor, k: int | Unknown = 1, dims: Sequence[DimArgument] | Unknown = (0, 1)
) -> Dims:
    """The input's dims; the two dims of the plane are swapped for odd `k` (torch.rot90)."""
    rank = input.dims.rank
    _check_rank(input.dims, 2, f"expected total dims >= 2, but got total dims = {rank}")
    if isinstance(dims, Unknown) or isinstance(k, Unknown):
        return Dims(open=True) if input.dims.rank is None else unknown_of_rank(input.dims.rank)
    places = positions(input.dims, tuple(dims))
    if len(places) != 2 or k % 2 == 0:
        return input.dims
    one, two = places
    if not isinstance(one, int) or not isinstance(two, int):
        return Dims(open=True) if input.dims.rank is None else unknown_of_rank(input.dims.rank)
    first, second = input.dims[one], input.dims[two]
    return input.dims.replace(one, second).replace(two, first)


def unknown_of_rank(rank: int) -> Dims:
    """A list of that many wholly unknown dims."""
    return Dims((Dim(),) * rank)


def resized(dims: Dims, place: Position, size: Size = UNKNOWN) -> Dims:
    """The same dims with another size at `place`."""
    if not dims.known and not dims.open:
        return dims
    return (
        dims.replace(place, Dim(dims[place].name, size))
        if isinstance(place, int)
        else dims.sizeless()
    )
