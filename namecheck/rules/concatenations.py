"""Operators that concatenate tensors; all names unify (name_inference.rst: cat)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from namecheck.core.dataclasses import replace
from namecheck.core.dims import (
    OPEN,
    Dim,
    Dims,
    Position,
    Size,
    added,
    agree,
    join_dims,
    locate,
    named_by,
    of_rank,
)
from namecheck.core.names import (
    UNKNOWN,
    Answer,
    Axis,
    Contradiction,
    Name,
    Unknown,
    is_observed,
    words,
)
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import DimArgument, Several, Tensors
from namecheck.rules.broadcasting import are_swapped, broadcast, has_words, unify
from namecheck.rules.dim_map import Made, reaching, same_shape, show_sizes
from namecheck.rules.registry import rule
from namecheck.rules.shapes import inserted

NEW = Dim(None, 1, purposeful=True)


@rule(memory="joins", overlaps="refused")
def cat(tensors: Tensors, dim: DimArgument = 0) -> Dims:
    """The names of all inputs unify, also at the dim concatenated (recorded: cat).

    Empty vectors are skipped beside tensors of other ranks, and where no tensor has a label.
    """
    return _concatenated(tensors, dim, natively=False)


@rule(memory="joins", overlaps="refused")
def cat_natively(tensors: Tensors, dim: DimArgument = 0) -> Dims:
    """As `cat`; torch 2.12 skips no tensor if one of them has a label (recorded: cat)."""
    return _concatenated(tensors, dim, natively=True)


def _concatenated(tensors: Tensors, dim: DimArgument, *, natively: bool) -> Dims:
    if isinstance(tensors, (Many, Unknown)):
        return tensors.each.dims.sizeless() if isinstance(tensors, Many) else OPEN
    if not tensors:
        raise Contradiction(
            "NC114",
            "torch.cat(): expected a non-empty list of Tensors",
            error="ValueError",
            help="There must be at least one tensor.",
        )
    lists = [_reached(tensor.dims, dim) for tensor in tensors]
    named = None if isinstance(dim, int) else locate(lists[0], dim)
    _check_no_scalar(lists)
    real = [dims for dims in lists if not _skipped(dims)]
    is_vague = _may_be_skipped if natively else _may_be_empty
    if any(map(is_vague, real)) and any(dims.rank != 1 for dims in real):
        return OPEN
    if real and isinstance(dim, int) and dim not in (0, -1) and all(map(_may_be_skipped, real)):
        return Dims((Dim(None, 0),))  # where torch refuses nothing
    first = locate(real[0], dim) if real and named is None else 0
    place = first if named is None else named
    if not isinstance(place, int) and any(map(_has_axes, real)):
        return reduce(join_dims, [dims.sizeless() for dims in real])
    of_other_rank = any(dims.rank not in (1, None) for dims in real)
    named_lists = Answer.NO if of_other_rank and not natively else _named(lists)
    if named_lists is Answer.MAYBE and len(real) < len(lists):
        return OPEN
    whole = _unified(real if named_lists is Answer.NO else lists, place)
    if not real:
        return whole if named_lists is Answer.YES else Dims((Dim(None, 0),))
    _check_shapes(real, place)
    if not isinstance(place, int):
        return whole.sizeless()
    return whole.replace(place, _joined(whole[place], [dims[place] for dims in real]))


def _joined(unified: Dim, pieces: Sequence[Dim]) -> Dim:
    """The dim that concatenated `pieces` become: labels are already unified, axes add up."""
    size = added(piece.size for piece in pieces)
    if not any(isinstance(piece.name, Axis) for piece in pieces):
        return Dim(unified.name, size)
    return Dim(_joined_name([piece.name for piece in pieces], size), size)


def put_together(pieces: Sequence[Dim]) -> Dim:
    """As `_joined`, for dims whose labels may differ."""
    unknown = any(piece.name is UNKNOWN for piece in pieces)
    return _joined(Dim(UNKNOWN if unknown else None), pieces)


def _joined_name(names: Sequence[Name], size: Size) -> Name:
    """The name of a concatenated dim: one axis is kept; several give the axis of their sum."""
    axes = [name for name in names if isinstance(name, Axis)]
    words = {axis.name for axis in axes}
    if UNKNOWN in names:
        return UNKNOWN
    if len(words) == 1:
        return Axis(words.pop(), ordered=all(axis.ordered for axis in axes))
    return UNKNOWN if isinstance(size, Unknown) else named_by(size)


def _has_axes(dims: Dims) -> bool:
    return any(isinstance(name, Axis) for name in dims.names)


def _named(lists: Sequence[Dims]) -> Answer:
    """Whether any tensor has a label: what an annotation names has no name to torch."""
    if any(isinstance(name, str) for dims in lists for name in dims.names):
        return Answer.YES
    vague = any(dims.open or UNKNOWN in dims.names for dims in lists)
    return Answer.MAYBE if vague else Answer.NO


def _skipped(dims: Dims) -> bool:
    """Whether torch may skip a tensor: an empty vector."""
    return dims.rank == 1 and dims.prefix[0].size == 0


def _may_be_empty(dims: Dims) -> bool:
    """Whether a vector may be empty, such as one of the elements that a mask selects.

    Of one that an annotation names it is not expected.
    """
    if dims.rank != 1 or dims.prefix[0].size is not UNKNOWN:
        return False
    return dims.prefix[0].name is None or isinstance(dims.prefix[0].name, str)


def _may_be_skipped(dims: Dims) -> bool:
    """Whether a vector without a name may be empty: no label keeps torch from skipping it."""
    return _may_be_empty(dims) and dims.prefix[0].name is None


def _reached(dims: Dims, dim: DimArgument) -> Dims:
    """The dims of a tensor that certainly has one at `dim`, unless it may be skipped."""
    has_elements = any(size is not UNKNOWN and size != 0 for size in dims.sizes)
    return reaching(dims, dim) if has_elements else dims


def _check_no_scalar(lists: Sequence[Dims]) -> None:
    for index, dims in enumerate(lists):
        if dims.rank == 0:
            raise Contradiction(
                "NC207",
                f"zero-dimensional tensor (at position {index}) cannot be concatenated",
                help="Use `stack` for tensors without dimensions.",
            )


def _unified(lists: Sequence[Dims], place: Position) -> Dims:
    """All names unified; lists of several lengths do not unify (recorded: cat).

    Axes may differ along the dim at `place`, where they add up.
    """
    ranks = [dims.rank for dims in lists if dims.rank is not None]
    result: Dims | None = None
    for dims in lists:
        same = dims if not ranks else of_rank(dims, ranks[0]) or dims
        same = _without_axis(same, place)
        if result is None:
            result = same
            continue
        _check_rank(result, same)
        result = unify(result, same, "cat")
    return result or Dims()


def _without_axis(dims: Dims, place: Position) -> Dims:
    if isinstance(place, int) and isinstance(dims[place].name, Axis):
        return dims.replace(place, Dim(None))
    return dims


def _check_rank(left: Dims, right: Dims) -> None:
    if left.rank is not None and right.rank is not None and left.rank != right.rank:
        raise Contradiction(
            "NC207",
            f"Tensors must have same number of dimensions: got {left.rank} and {right.rank}",
            help="Only tensors of the same rank can be concatenated.",
        )


def _check_shapes(lists: Sequence[Dims], place: Position) -> None:
    first = lists[0]
    for number, dims in enumerate(lists[1:], 1):
        if first.rank is None or dims.rank is None:
            continue
        _check_rank(first, dims)
        for position, (one, other) in enumerate(zip(first.prefix, dims.prefix, strict=True)):
            different = agree(one.size, other.size) is Answer.NO
            if different and isinstance(place, int) and position != place:
                raise Contradiction(
                    "NC201",
                    f"Sizes of tensors must match except in dimension {place}. Expected size "
                    f"{one.size} but got size {other.size} for tensor number {number} in the list.",
                    help="All dims except the concatenated one must agree.",
                )
        if isinstance(place, int):
            _check_place(first, dims, place)
            _check_others(first, dims, place, number)


def _check_others(left: Dims, right: Dims, place: int, number: int) -> None:
    """Refuse two dims beside the concatenated one, where a tensor has the other's elsewhere.

    Torch takes no tensor of size 1 for one of many there, and the code has a word for the many.
    """
    for position, (one, other) in enumerate(zip(left.prefix, right.prefix, strict=True)):
        if position == place or one.size == other.size:
            continue
        lone = any(
            here.size == 1 and has_words(there) and there.size in dims.sizes
            for here, there, dims in ((one, other, left), (other, one, right))
        )
        if lone or (1 not in (one.size, other.size) and are_swapped(one, other, left, right)):
            raise Contradiction(
                "NC101",
                f"Sizes of tensors must match except in dimension {place}. Expected size "
                f"{one.size} but got size {other.size} at dimension {position} for tensor number "
                f"{number} in the list: it is right only if {one.size} = {other.size}.",
                names=words([one.name, other.name]),
                help="Bring the dims of the tensors into one order.",
            )


def _check_place(left: Dims, right: Dims, place: int) -> None:
    """Refuse to concatenate along a dim that both have, where another one is 1 against many.

    A tensor with one item is put before one with many along that dim, which the author has given a
    word: the size of that may be 1, but then the word says nothing.
    """
    if left[place].size != right[place].size or left[place].size in (UNKNOWN, 1):
        return
    pairs = list(zip(left.prefix, right.prefix, strict=True))
    mixed = [pair for pair in pairs if any(map(_is_many, pair)) and 1 in (d.size for d in pair)]
    if not mixed:
        return
    position, many = pairs.index(mixed[0]), next(filter(_is_many, mixed[0]))
    raise Contradiction(
        "NC201",
        f"Tensors are concatenated along dimension {place}, but one has the size 1 at dimension "
        f"{position}, and the other one {many.size}: it is right only if {many.size} = 1.",
        names=words([many.name]),
        help=f"Concatenate along dimension {position}.",
    )


def _is_many(dim: Dim) -> bool:
    """Whether a dim is as long as the code has a word for, or is all of that but a few: ``n-1``."""
    if not isinstance(dim.size, Expression):
        return False
    symbolic = tuple(term for term in dim.size.terms if term[0])
    return has_words(replace(dim, size=Expression(symbolic)))


@rule(memory="joins", overlaps="refused")
def stack(tensors: Tensors, dim: DimArgument = 0) -> Dims:
    """The names of all inputs unify; the new dim has no name (torch.stack)."""
    if isinstance(tensors, Unknown):
        return OPEN
    lists = [tensors.each.dims] if isinstance(tensors, Many) else [t.dims for t in tensors]
    if not lists:
        raise Contradiction("NC114", "stack expects a non-empty TensorList")
    unified = lists[0]
    for number, dims in enumerate(lists[1:], 1):
        if same_shape(lists[0], dims) is Answer.NO:
            raise Contradiction(
                "NC201",
                f"stack expects each tensor to be equal size, but got {show_sizes(lists[0])} at "
                f"entry 0 and {show_sizes(dims)} at entry {number}",
                help="Only tensors of one shape can be stacked.",
            )
        if dims != unified:
            unified = broadcast(_of_any_scan(unified, dims), _of_any_scan(dims, unified), "stack")
    count = UNKNOWN if isinstance(tensors, Many) else len(lists)
    if isinstance(dim, Unknown):
        return OPEN
    return inserted(unified, dim, Made(size=count))


def _of_any_scan(dims: Dims, other_dims: Dims) -> Dims:
    """The dims without the names of those that are merged in another order in other dims.

    The rows and the columns of an image are scanned one after the other, and stacked, on purpose.
    """
    if dims.rank is None or dims.rank != other_dims.rank:
        return dims
    pairs = zip(dims.prefix, other_dims.prefix, strict=True)
    return Dims(
        tuple(
            [replace(one, name=UNKNOWN) if _is_scanned(one, other) else one for one, other in pairs]
        )
    )


def _is_scanned(dim: Dim, other_dim: Dim) -> bool:
    """Whether two dims are merged from the same axes, which the code itself names."""
    one, other = dim.name, other_dim.name
    if not isinstance(one, Axis) or not isinstance(other, Axis) or not is_observed(one.name):
        return False
    return one.factors != other.factors and sorted(one.factors) == sorted(other.factors)


@rule(memory="joins", overlaps="refused")
def hstack(tensors: Tensors) -> Dims:
    """As `cat` along dim 1, for vectors along dim 0 (recorded: hstack)."""
    first = _first(tensors)
    if first is None or first.rank is None:
        return OPEN
    return _stacked(tensors, 1, 0 if first.rank <= 1 else 1)


@rule(memory="joins", overlaps="refused")
def vstack(tensors: Tensors) -> Dims:
    """As `cat` along dim 0, of tensors that are made at least 2-d (torch.vstack)."""
    return _stacked(tensors, 2, 0)


@rule(memory="joins", overlaps="refused")
def dstack(tensors: Tensors) -> Dims:
    """As `cat` along dim 2, of tensors that are made at least 3-d (torch.dstack)."""
    return _stacked(tensors, 3, 2)


@rule(memory="joins", overlaps="refused")
def column_stack(tensors: Tensors) -> Dims:
    """As `cat` along dim 1, where a vector is a column (torch.column_stack)."""
    if isinstance(tensors, (Many, Unknown)) or any(t.dims.open for t in tensors):
        return OPEN
    return cat([Tensor(_column(tensor.dims)) for tensor in tensors], 1)


def _first(tensors: Tensors) -> Dims | None:
    if isinstance(tensors, Many):
        return tensors.each.dims
    return None if isinstance(tensors, Unknown) or not tensors else tensors[0].dims


def _stacked(tensors: Tensors, rank: int, place: int) -> Dims:
    if isinstance(tensors, (Many, Unknown)) or any(t.dims.open for t in tensors):
        return OPEN
    return cat([Tensor(at_least(tensor.dims, rank)) for tensor in tensors], place)


def _column(dims: Dims) -> Dims:
    if dims.rank == 0:
        return Dims((NEW, NEW))
    return Dims((*dims.prefix, NEW)) if dims.rank == 1 else dims


def at_least(dims: Dims, rank: int) -> Dims:
    """The dims with unnamed dims added up to `rank`: a vector is a row, a matrix a layer."""
    known_dims = dims.prefix
    if len(known_dims) >= rank:
        return dims
    if not known_dims:
        return Dims((NEW,) * rank)
    if len(known_dims) == 1:
        return Dims((NEW, *known_dims) if rank == 2 else (NEW, *known_dims, NEW))
    return Dims((*known_dims, NEW))


def _each(input: Several, rank: int) -> Dims | tuple[Dims, ...] | Many | Unknown:
    """The rule applied to one tensor, or to each of several."""
    if isinstance(input, Unknown):
        return UNKNOWN
    if isinstance(input, Many):
        return Many(Tensor(_stretched(input.each.dims, rank)))
    if isinstance(input, Tensor):
        return _stretched(input.dims, rank)
    return tuple(_stretched(tensor.dims, rank) for tensor in input)


def _stretched(dims: Dims, rank: int) -> Dims:
    return OPEN if dims.open else at_least(dims, rank)


@rule(memory="unknown")
def atleast_1d(input: Several) -> Dims | tuple[Dims, ...] | Many | Unknown:
    """The input's dims; a number becomes an unnamed vector (torch.atleast_1d)."""
    return _each(input, 1)


@rule(memory="unknown")
def atleast_2d(input: Several) -> Dims | tuple[Dims, ...] | Many | Unknown:
    """A vector becomes a row (torch.atleast_2d)."""
    return _each(input, 2)


@rule(memory="unknown")
def atleast_3d(input: Several) -> Dims | tuple[Dims, ...] | Many | Unknown:
    """A vector becomes a row of one layer, a matrix one layer (torch.atleast_3d)."""
    return _each(input, 3)
