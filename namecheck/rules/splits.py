"""Operators that cut a dimension into pieces; every piece keeps the names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from namecheck.core.dims import (
    ANYWHERE,
    Dim,
    Dims,
    Position,
    Size,
    added,
    agree,
    locate,
    named_by,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Unknown
from namecheck.core.sizes import Expression, listed
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import DimArgument
from namecheck.rules.dim_map import reaching
from namecheck.rules.registry import rule
from namecheck.rules.scans import resized

# More pieces than this have unknown sizes: a tensor is rarely cut into more.
_MOST: Final = 256

Sections = Size | Sequence[Size] | Tensor


@rule(memory="cuts")
def chunk(input: Tensor, chunks: Size, dim: DimArgument = 0) -> tuple[Dims, ...] | Many:
    """At most `chunks` pieces of equal size, the last one smaller (recorded: chunk)."""
    if isinstance(chunks, int) and chunks < 1 and input.dims.rank != 0:
        raise _refused("NC206", f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    place = _cut(input, "chunk", dim)
    size = input.dims[place].size
    if isinstance(size, Expression):
        return _shares(input.dims, place, size, chunks)
    if not isinstance(size, int) or not isinstance(chunks, int):
        return _any_number(input.dims, place)
    if not size:
        return _pieces(input.dims, place, [0], chunks)
    return _equal(input.dims, place, size, -(-size // chunks))


@rule(memory="cuts")
def split(input: Tensor, split_size: Sections, dim: DimArgument = 0) -> tuple[Dims, ...] | Many:
    """Pieces of one size, the last one smaller, or of the listed sizes (recorded: split)."""
    if isinstance(split_size, (tuple, list)):
        return split_with_sizes(input, split_size, dim)
    place = _cut(input, "split", dim)
    size = input.dims[place].size
    if isinstance(split_size, int) and split_size < 0:
        raise _refused(
            "NC206", f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    if isinstance(size, Expression) and isinstance(split_size, (int, Expression)) and split_size:
        count = size // split_size
        even = isinstance(count, int) and count * split_size == size
        return _shares(input.dims, place, size, count) if even else _any_number(input.dims, place)
    if not isinstance(size, int) or not isinstance(split_size, int):
        return _any_number(input.dims, place)
    if split_size == 0 and size:
        raise _refused(
            "NC206",
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}",
        )
    if not size:
        return _pieces(input.dims, place, [0])
    return _equal(input.dims, place, size, split_size)


@rule(memory="cuts")
def split_with_sizes(
    input: Tensor, split_sizes: Sequence[Size | Tensor] | Unknown, dim: DimArgument = 0
) -> tuple[Dims, ...] | Many:
    """Pieces of the listed sizes, which must add up (recorded: split_with_sizes)."""
    place, dims = _cut(input, "split", dim), input.dims
    if place is ANYWHERE:  # every tensor that can be cut has a dim
        dims = reaching(dims, dim, scalars=False)
        place = locate(dims, dim)
    if isinstance(split_sizes, Unknown):
        return _any_number(dims, place)
    piece_sizes: list[Size] = [
        UNKNOWN if isinstance(part, Tensor) else part for part in split_sizes
    ]
    size, known_sizes = (
        dims[place].size,
        [part for part in piece_sizes if isinstance(part, int)],
    )
    if any(part < 0 for part in known_sizes):
        raise _refused(
            "NC206",
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={listed(split_sizes)}",
        )
    if agree(added(piece_sizes), size) is Answer.NO:
        raise Contradiction(
            "NC201",
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size "
            f"at dimension {dim if isinstance(dim, int) else place}), but got "
            f"split_sizes={listed(split_sizes)}",
            help=f"The sizes must add up to {size}.",
        )
    return _pieces(dims, place, piece_sizes)


@rule(memory="cuts")
def tensor_split(
    input: Tensor, indices_or_sections: Sections, dim: DimArgument = 0
) -> tuple[Dims, ...] | Many:
    """Pieces between indices, or a number of pieces (recorded: tensor_split)."""
    if input.dims.rank == 0:
        raise _refused(
            "NC207",
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
        )
    place = locate(input.dims, dim)
    if isinstance(indices_or_sections, int) and indices_or_sections < 1:
        raise _refused(
            "NC206", f"number of sections must be larger than 0, got {indices_or_sections}"
        )
    return _sections(input.dims, place, indices_or_sections)


@rule(memory="unknown")
def hsplit(input: Tensor, indices_or_sections: Sections) -> tuple[Dims, ...] | Many:
    """As `tensor_split` along dim 1, for a vector along dim 0 (torch.hsplit)."""
    if input.dims.rank is None:
        return Many(Tensor(input.dims.sizeless()))
    return _split_at(input, "hsplit", 0 if input.dims.rank <= 1 else 1, 1, indices_or_sections)


@rule(memory="unknown")
def vsplit(input: Tensor, indices_or_sections: Sections) -> tuple[Dims, ...] | Many:
    """As `tensor_split` along dim 0 (torch.vsplit)."""
    return _split_at(input, "vsplit", 0, 2, indices_or_sections)


@rule(memory="unknown")
def dsplit(input: Tensor, indices_or_sections: Sections) -> tuple[Dims, ...] | Many:
    """As `tensor_split` along dim 2 (torch.dsplit)."""
    return _split_at(input, "dsplit", 2, 3, indices_or_sections)


def _split_at(
    input: Tensor, operator: str, place: int, rank: int, sections: Sections
) -> tuple[Dims, ...] | Many:
    """Check what hsplit, vsplit and dsplit check before they cut."""
    own_rank = input.dims.rank
    if own_rank is not None and own_rank < rank:
        raise _refused(
            "NC207",
            f"torch.{operator} requires a tensor with at least {rank} dimension, but got a tensor "
            f"with {own_rank} dimensions!",
        )
    position = locate(input.dims, place)
    size = input.dims[position].size
    if isinstance(sections, int) and isinstance(size, int) and (sections < 1 or size % sections):
        raise _refused(
            "NC201",
            f"torch.{operator} attempted to split along dimension {place}, but the size of the "
            f"dimension {size} is not divisible by the split_size {sections}!",
        )
    return _sections(input.dims, position, sections)


def _refused(code: str, message: str) -> Contradiction:
    return Contradiction(code, message, help="Cut an existing dimension, within its size.")


@rule(memory="cuts")
def narrow(input: Tensor, dim: DimArgument, begin: Tensor | Size, length: Size) -> Dims:
    """The input's dims with `length` along `dim` (recorded: narrow)."""
    if input.dims.rank == 0:
        raise _refused("NC207", "narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(length, int) and length < 0:
        raise _refused("NC206", "narrow(): length must be non-negative.")
    if isinstance(begin, Tensor) and begin.dims.min_rank:
        raise _refused("NC207", "start must be an 0-dim integral Tensor.")
    place = locate(input.dims, dim)
    size = input.dims[place].size
    if isinstance(begin, int) and isinstance(length, int) and isinstance(size, int):
        if not -size <= begin <= size:
            raise Contradiction(
                "NC206",
                f"start out of range (expected to be in range of [{-size}, {size}], but got "
                f"{begin})",
                error="IndexError",
                help=f"The dimension has size {size}.",
            )
        first = begin + size if begin < 0 else begin
        if first + length > size:
            raise Contradiction(
                "NC206",
                f"start ({first}) + length ({length}) exceeds dimension size ({size}).",
                help=f"The dimension has size {size}.",
            )
    return _piece(input.dims, place, length)


@rule(memory="unknown")
def slices(
    input: Tensor,
    dim: DimArgument = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Dims:
    """A part of one dim, which keeps its name (torch.slice_copy); any bound may be unknown."""
    if input.dims.rank == 0:
        raise _refused("NC207", "slice() cannot be applied to a 0-dim tensor.")
    place = locate(input.dims, dim)
    size = input.dims[place].size
    bounds: tuple[object, ...] = (start, end, step)
    length: Size = UNKNOWN
    if isinstance(size, int) and step != 0 and UNKNOWN not in bounds:
        length = len(range(*slice(*bounds).indices(size)))
    return _piece(input.dims, place, length)


@rule(memory="moves")
def unbind(input: Tensor, dim: DimArgument = 0) -> tuple[Dims, ...] | Many:
    """One result for each index of `dim`, without that dim (recorded: unbind)."""
    if input.dims.rank == 0 and dim in (0, -1):
        raise Contradiction(
            "NC203",
            f"Dimension specified as {dim} but tensor has no dimensions",
            error="IndexError",
            help="A tensor without dimensions has nothing to unbind.",
        )
    place = locate(input.dims, dim)
    size, others = input.dims[place].size, input.dims.without(place)
    return (others,) * size if isinstance(size, int) and size <= _MOST else Many(Tensor(others))


def _cut(input: Tensor, operator: str, dim: DimArgument) -> Position:
    if input.dims.rank == 0:
        raise Contradiction(
            "NC207",
            f"{operator} expects at least a 1-dimensional tensor",
            help="A tensor without dimensions cannot be cut.",
        )
    return locate(input.dims, dim)


def _equal(dims: Dims, place: Position, dim_size: int, step: int) -> tuple[Dims, ...] | Many:
    if dim_size > step * _MOST:
        return _any_number(dims, place)
    return _pieces(dims, place, [min(step, dim_size - start) for start in range(0, dim_size, step)])


def _sections(dims: Dims, place: Position, sections: Sections) -> tuple[Dims, ...] | Many:
    size = dims[place].size
    if isinstance(size, Expression) and isinstance(sections, (int, Expression)):
        return _shares(dims, place, size, sections)
    if isinstance(sections, int) and sections > 0:
        if not isinstance(size, int):
            return _pieces(dims, place, [UNKNOWN], sections)
        whole, rest = divmod(size, sections)
        if sections > _MOST:
            return _any_number(dims, place)
        return _pieces(dims, place, [whole + (n < rest) for n in range(sections)])
    if isinstance(sections, (tuple, list)):
        return _pieces(dims, place, _between(sections, size))
    if isinstance(sections, Tensor) and sections.dims.rank == 1:
        count = sections.dims.prefix[0].size
        if isinstance(count, int):
            return _pieces(dims, place, [UNKNOWN], count + 1)
    return _any_number(dims, place)


def _between(indices: Sequence[Size], size: Size) -> list[Size]:
    ints = [index for index in indices if isinstance(index, int)]
    if not isinstance(size, int) or len(ints) < len(indices):
        return [UNKNOWN] * (len(indices) + 1)
    marks = [slice(None, index).indices(size)[1] for index in ints]
    return [max(0, end - begin) for begin, end in zip([0, *marks], [*marks, size], strict=True)]


def _shares(
    dims: Dims, place: Position, dim_size: Expression, count: Size
) -> tuple[Dims, ...] | Many:
    """`count` equal pieces of a symbolic size, which is assumed to be divisible."""
    if isinstance(count, Unknown) or (isinstance(count, int) and count < 1):
        return _any_number(dims, place)
    # An unnamed dim stays unnamed, whatever its size is.
    dim = dims[place]
    share = dim_size // count
    part = dims.replace(place, Dim(None, share) if dim.name is None else part_of(dim, share))
    if isinstance(count, int) and count <= _MOST:
        return (part,) * count
    return Many(Tensor(part))


def _pieces(
    dims: Dims, place: Position, sizes: Sequence[Size], times: int = 1
) -> tuple[Dims, ...] | Many:
    if len(sizes) * times > _MOST:
        return _any_number(dims, place)
    return tuple(_piece(dims, place, size) for size in sizes) * times


def _piece(dims: Dims, place: Position, size: Size) -> Dims:
    if not dims.known and not dims.open:
        return dims
    if not isinstance(place, int):
        return dims.sizeless()
    return dims.replace(place, part_of(dims[place], size))


def part_of(dim: Dim, size: Size) -> Dim:
    """A part of a dim: a label is kept, and an axis unless the size is that of another axis."""
    size_name = named_by(size)
    if isinstance(dim.name, Axis) and isinstance(size_name, Axis):
        same = set(size_name.factors) & set(dim.name.factors)
        return Dim(dim.name if same else size_name, size)
    return Dim(size_name if dim.name is None else dim.name, size)


def _any_number(dims: Dims, place: Position) -> Many:
    return Many(Tensor(resized(dims, place)))
