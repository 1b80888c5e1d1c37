"""Operators that rearrange elements: diagonal, flat, repeat, unfold, complex numbers."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.core.dataclasses import replace
from namecheck.core.dims import (
    ANY_DIM,
    OPEN,
    Dim,
    Dims,
    Position,
    Size,
    locate,
    merged,
    new_dim,
    product,
)
from namecheck.core.dtypes import Category, is_among, of_category
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown, check_distinct
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import DimArgument, Sizes
from namecheck.rules.broadcasting import diagonal_dim
from namecheck.rules.dim_map import joined, rearrange, without_right
from namecheck.rules.grids import side_of_square
from namecheck.rules.registry import rule
from namecheck.rules.scans import resized


@rule(memory="diagonals")
def diagonal(
    input: Tensor,
    offset: int | Unknown = 0,
    dim1: DimArgument = 0,
    dim2: DimArgument = 1,
    outdim: str | Unknown | None = None,
) -> Dims:
    """The dims without the two, plus a last one, named `outdim` (recorded: diagonal)."""
    if isinstance(dim2, str):
        locate(input.dims, dim2)  # torch looks up the second name first
    one, two = locate(input.dims, dim1), locate(input.dims, dim2)
    if one == two and isinstance(one, int):
        raise Contradiction(
            "NC104",
            f"diagonal dimensions cannot be identical {_spoken(dim1, one)}, {_spoken(dim2, two)}",
            help="Give two different dimensions.",
        )
    if input.dims.open or not isinstance(one, int) or not isinstance(two, int):
        return OPEN
    remaining = [place for place in range(len(input.dims.prefix)) if place not in (one, two)]
    last = diagonal_dim(input.dims[one], input.dims[two], offset)
    if outdim is not None:
        last = replace(last, name=outdim)
    result = joined(rearrange(input.dims, remaining), Dims((last,)))
    check_distinct(result.names)
    return result


def _spoken(dim: DimArgument, place: Position) -> int | str:
    """The dim as torch prints it: an index as the caller wrote it, a name as its index."""
    return dim if isinstance(dim, int) else str(place)


@rule(memory="unknown")
def diag(input: Tensor, diagonal: int | Unknown = 0) -> Dims:
    """A matrix from a vector, or the diagonal of a matrix, without labels (torch.diag)."""
    if input.dims.rank is None:
        return OPEN
    if input.dims.rank not in (1, 2):
        raise Contradiction(
            "NC207",
            f"diag(): Supports 1D or 2D tensors. Got {input.dims.rank}D",
            help="Use `diagonal`.",
        )
    if input.dims.rank == 1:
        return _square(input.dims.prefix[0], diagonal)
    rows, columns = input.dims.prefix
    return Dims((diagonal_dim(rows, columns, diagonal),))


def _square(vector: Dim, offset: int | Unknown) -> Dims:
    side = side_of_square(vector, offset)
    return Dims((side, side))


@rule(memory="fresh")
def bincount(input: Tensor) -> Dims | Unknown:
    """One unnamed dim; the input must be a vector of integers (torch.bincount)."""
    fits = input.dims.rank == 1 and _is_counted(input)
    return Dims.of(None) if fits else UNKNOWN


def _is_counted(input: Tensor) -> bool:
    return is_among(input.dtype, of_category(Category.INTEGRAL)) is Answer.YES


@rule(memory="unknown")
def flat_square(input: Tensor, offset: int | Unknown = 0) -> Dims:
    """A square matrix of all elements, without labels (torch.diagflat)."""
    if input.dims.rank is None:
        return Dims((Dim(), Dim()))
    return _square(merged(input.dims.prefix) if input.dims.prefix else Dim(None, 1), offset)


@rule(memory="fresh")
def repeat(input: Tensor, repeats: Sizes) -> Dims:
    """The names are kept, the sizes multiplied, new leading dims are unnamed (Tensor.repeat)."""
    if isinstance(repeats, Unknown) or input.dims.open:
        return OPEN
    if len(repeats) < input.dims.min_rank:
        raise Contradiction(
            "NC207",
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor",
            help="Give a number of repetitions for every dimension.",
        )
    return _repeated(input.dims, repeats)


@rule(memory="fresh")
def tile(input: Tensor, repeats: Sizes) -> Dims:
    """As `repeat`, where missing repetitions are 1 (torch.tile)."""
    if isinstance(repeats, Unknown) or input.dims.open:
        return OPEN
    return _repeated(input.dims, [*[1] * (input.dims.min_rank - len(repeats)), *repeats])


def _repeated(dims: Dims, times: Sequence[Size]) -> Dims:
    new = len(times) - dims.min_rank
    front = [replace(new_dim(size), purposeful=size == 1) for size in times[:new]]
    back = [tiled(dim, count) for dim, count in zip(dims.prefix, times[new:], strict=True)]
    return Dims((*front, *back))


def tiled(dim: Dim, count: Size, *, outside: bool = True) -> Dim:
    """A dim repeated as a whole, or, unless `outside`, element by element."""
    if count == 1:
        return dim
    if isinstance(dim.name, (str, Unknown)):
        return Dim(dim.name, product((dim.size, count)))
    copies = new_dim(count)
    return merged([copies, dim] if outside else [dim, copies])


@rule(memory="unknown")
def repeat_interleave(
    repeats: Tensor | Size, input: Tensor | None = None, dim: DimArgument = None
) -> Dims:
    """The input's names, longer along `dim`; without a dim the result is a vector (torch)."""
    if input is None or dim is None:
        return Dims.of(None)
    if isinstance(dim, Unknown):
        return Dims((ANY_DIM,)) if input.dims.rank == 1 else OPEN  # it may be None
    place = locate(input.dims, dim)
    if not isinstance(place, int) or isinstance(repeats, (Tensor, Unknown)):
        return resized(input.dims, place)
    return input.dims.replace(place, tiled(input.dims[place], repeats, outside=False))


@rule(memory="windows")
def unfold(input: Tensor, dimension: DimArgument, size: Size, step: Size) -> Dims:
    """The names are kept; the windows are a new last dim (Tensor.unfold)."""
    window = new_dim(size)
    place = locate(input.dims, dimension)
    count = _windows(input.dims[place].size, size, step)
    return joined(resized(input.dims, place, count), Dims((window,)))


def _windows(whole: Size, size: Size, step: Size) -> Size:
    """The number of windows; known for ints alone."""
    if type(whole) is not int or type(size) is not int or type(step) is not int:
        return UNKNOWN
    return (whole - size) // step + 1 if 0 <= size <= whole and step > 0 else UNKNOWN


@rule(memory="strides")
def as_strided(input: Tensor, size: Sizes) -> Dims:
    """No names (recorded: as_strided); a negative size is unknown, as torch accepts some."""
    if isinstance(size, Unknown):
        return OPEN
    known = (UNKNOWN if isinstance(each, int) and each < 0 else each for each in size)
    return Dims(tuple(map(new_dim, known)))


@rule(memory="unknown")
def view_as_real(input: Tensor) -> Dims:
    """The input's dims, plus a last dim of size 2 for the two parts (torch.view_as_real)."""
    return joined(input.dims, Dims((Dim(None, 2),)))


@rule(memory="unknown")
def view_as_complex(input: Tensor) -> Dims:
    """The input's dims without the last one, which holds the two parts (torch.view_as_complex)."""
    return without_right(input.dims, 1)


@rule(memory="unknown")
def imag(input: Tensor) -> Dims:
    """The input's names; a real tensor has no imaginary part (recorded: imag)."""
    return input.dims
