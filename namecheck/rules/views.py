"""Views that merge and split dimensions: ``view``, ``reshape``, ``ravel``.

A view keeps the order of the elements. The sizes determine where each dim of the result comes from:
a dim that is kept whole is the same dim, several adjacent ones become a merged dim, and a dim that
is split has parts that are named by their sizes. Where sizes are unknown, or their product is not
certainly the whole, the names are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namecheck.core import dtypes
from namecheck.core.dataclasses import replace
from namecheck.core.dims import (
    OPEN,
    Dim,
    Dims,
    Size,
    agree,
    merged,
    new_dim,
    product,
)
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Name, Unknown
from namecheck.core.tensors import Constant, Tensor
from namecheck.rules.arguments import Sizes
from namecheck.rules.dim_map import joined, show_sizes, without_right
from namecheck.rules.element_order import (
    Piece,
    check_ends,
    check_order,
    check_rest,
    is_padded,
    pieces_of,
)
from namecheck.rules.ratios import ONE, Ratio, inferred, ratio
from namecheck.rules.registry import rule
from namecheck.rules.splits import part_of


@rule(memory="views")
def view(input: Tensor, size: Sizes | None = None, dtype: Any = UNKNOWN) -> Dims:
    """The dims of a view with these sizes, one of which may be -1 (torch.Tensor.view)."""
    if isinstance(size, Unknown):
        return OPEN
    if size is None:
        return _resized_by_dtype(input, dtype)
    _check_count(input.dims, size)
    if input.dims.open:
        check_ends(input.dims, size)
        return Dims(tuple(_guess(one, UNKNOWN) for one in size))
    whole = product(input.dims.sizes)
    rest = inferred(whole, product(one for one in size if one != -1))
    sizes = [rest if one == -1 and rest is not UNKNOWN else one for one in size]
    if rest is UNKNOWN:
        check_rest(input.dims.prefix, sizes)
    dims = laid_out(input.dims.prefix, sizes)
    return Dims(tuple(dims if _only_inserts(input.dims.prefix, dims) else map(_of_data, dims)))


def _only_inserts(dims: Sequence[Dim], view_dims: Sequence[Dim]) -> bool:
    """Whether a view only adds dims of size 1, as `unsqueeze` does, or makes a row or a column.

    Otherwise the elements are laid out anew, as images of one channel (``view(-1, 1, 28, 28)``):
    the 1 is a size of the data, and not there to be expanded.
    """
    if len(view_dims) < 3:
        return True
    kept, larger = ([dim.size for dim in each if dim.size != 1] for each in (dims, view_dims))
    unknown = UNKNOWN in kept or UNKNOWN in larger
    return unknown or (len(kept) == len(larger) and kept == larger)


def _of_data(dim: Dim) -> Dim:
    return replace(dim, purposeful=False) if dim.size == 1 else dim


def _resized_by_dtype(input: Tensor, goal_dtype: Any) -> Dims:
    """The dims under another dtype: a wider one makes the last dim shorter (Tensor.view)."""
    dims = input.dims
    if dims.open and not dims.suffix:
        return dims.sizeless()
    last = dims.from_right(1)
    if last is None:
        return dims
    size = _under_another_dtype(last.size, input.dtype, goal_dtype)
    return joined(without_right(dims, 1), Dims((Dim(last.name, size),)))


def _under_another_dtype(size: Size, own_dtype: object, goal_dtype: Any) -> Size:
    """The size of the last dim under another dtype, where the bytes of both are known."""
    own_bytes = dtypes.BYTES.get(own_dtype) if isinstance(own_dtype, str) else None
    goal_bytes = dtypes.BYTES.get(goal_dtype.name) if isinstance(goal_dtype, Constant) else None
    if own_bytes is None or goal_bytes is None or not isinstance(size, int):
        return UNKNOWN
    count, rest = divmod(size * own_bytes, goal_bytes)
    return UNKNOWN if rest else count


def _check_count(dims: Dims, sizes: Sequence[Size]) -> None:
    """Refuse sizes whose product differs from the number of elements."""
    whole = UNKNOWN if dims.open else product(dims.sizes)
    others = product(size for size in sizes if size != -1)
    if -1 not in sizes:
        fits = agree(whole, others) is not Answer.NO
    elif isinstance(whole, int) and isinstance(others, int):
        fits = others != 0 and whole % others == 0
    else:
        fits = others != 0 or agree(whole, 0) is Answer.MAYBE
    if not fits:
        raise Contradiction(
            "NC201",
            f"shape '{show_sizes(Dims.of(*[None] * len(sizes), sizes=sizes))}' is invalid for "
            f"input of size {whole}",
            help=f"The tensor has {whole} element{'' if whole == 1 else 's'}.",
        )


@rule(memory="views")
def view_as(input: Tensor, other: Tensor) -> Dims:
    """The dims of a view with the sizes of another tensor (torch.Tensor.view_as)."""
    if other.dims.open:
        return OPEN
    result = view(input, other.dims.sizes)
    return Dims(tuple(map(_unless_an_axis, result.prefix, other.dims.prefix)))


def _unless_an_axis(dim: Dim, model: Dim) -> Dim:
    """A dim whose name is unknown where its size may be that of an axis."""
    doubtful = dim.name is None and model.size is UNKNOWN
    return replace(dim, name=UNKNOWN) if doubtful else dim


@rule(memory="reshapes")
def flat(input: Tensor) -> Dims:
    """One merged dim; a vector keeps its dim (torch.ravel)."""
    if input.dims.open:
        return Dims((Dim(),))
    if input.dims.rank == 1:
        return input.dims
    return Dims((merged(input.dims.prefix) if input.dims.prefix else Dim(None, 1),))


def laid_out(dims: Sequence[Dim], sizes: Sequence[Size]) -> list[Dim]:
    """The dims of a view at these sizes; raises NC115 where it certainly scrambles axes.

    A size of -1 takes the rest of the elements where that is unknown.
    """
    pieces = [piece for dim in dims for piece in pieces_of(dim)]
    try:
        check_order(pieces, sizes)
    except Contradiction:
        if not any(map(is_padded, sizes)):
            raise
        # The rows are cut anew on purpose, as for relative positions.
        return [Dim()] * len(sizes)
    front, inner, left = _matched(pieces, sizes)
    back, inner, left = _matched(inner[::-1], left[::-1], backwards=True)
    middle = _guessed(inner[::-1], left[::-1])
    return [*front, *middle, *back[::-1]]


def _matched(
    pieces: Sequence[Piece], sizes: Sequence[Size], *, backwards: bool = False
) -> tuple[list[Dim], Sequence[Piece], Sequence[Size]]:
    """The dims up to the first uncertain one, and the pieces and sizes that remain."""
    certain: list[Dim] = []
    while sizes:
        size = sizes[0]
        if size == 1:
            if backwards or (pieces and pieces[0].dim.size is UNKNOWN):
                break
            single = pieces and pieces[0].dim.size == 1
            certain.append(pieces[0].dim if single else Dim(None, 1, purposeful=True))
            pieces = pieces[1:] if single else pieces
        else:
            taken = _take(pieces, size, backwards)
            if taken is None:
                break
            used, pieces = taken
            certain.append(_together(used[::-1] if backwards else used, size))
        sizes = sizes[1:]
    return certain, pieces, sizes


_Taken = tuple[list[Piece], list[Piece]]


def _take(pieces: Sequence[Piece], size: Size, backwards: bool) -> _Taken | None:
    """The pieces whose product is a size, and the remaining ones; None where that is uncertain."""
    if isinstance(size, Unknown) or size in (0, -1):
        return None
    need = ratio(size)
    used: list[Piece] = []
    remaining = list(pieces)
    while need != ONE:
        own = remaining[0].ratio if remaining else None
        if own is None or (backwards and own == ONE):
            return None
        piece = remaining.pop(0)
        if own == ONE:
            continue
        if (need / own).is_whole:
            used.append(piece)
            need = need / own
        elif _may_be_cut(own, need, remaining):
            used.append(piece.cut(need))
            remaining.insert(0, piece.cut(own / need))
            need = ONE
        else:
            return None
    return used, remaining


def _may_be_cut(share: Ratio, need: Ratio, rest_pieces: Sequence[Piece]) -> bool:
    """Whether a size is a part of another: it divides it, or the caller must know that it does."""
    if (share / need).is_whole:
        return True
    elsewhere = [base for other in rest_pieces if other.ratio for base in other.ratio.bases]
    return bool(share.bases) and not need.bases.intersection(elsewhere)


def _together(pieces: Sequence[Piece], size: Size) -> Dim:
    """The dim that whole pieces are merged into; a part of a dim is named by its size."""
    if len(pieces) == 1 and pieces[0].whole and pieces[0].dim.name is not None:
        return pieces[0].dim
    whole = merged([piece.dim for piece in pieces])
    certain = all(piece.whole for piece in pieces) and whole.name is not None
    return replace(whole, size=size) if certain else new_dim(size)


def _guessed(pieces: Sequence[Piece], sizes: Sequence[Size]) -> list[Dim]:
    """The dims of a view whose dims come from unknown dims of the input."""
    larger = [piece for piece in pieces if piece.dim.size != 1]
    vague = (
        any(piece.ratio is None and piece.dim.size != 0 for piece in larger)
        or UNKNOWN in sizes
        or -1 in sizes
    )
    unnamed = UNKNOWN if vague and any(piece.dim.name is not None for piece in larger) else None
    if len(sizes) != 1 or sizes[0] in (1, UNKNOWN) or not larger:
        return [_guess(size, unnamed) for size in sizes]
    size = product(piece.dim.size for piece in larger) if sizes[0] == -1 else sizes[0]
    if len(larger) == 1 and larger[0].whole:
        return [part_of(larger[0].dim, size)]
    return [replace(_together(larger, size), size=size) if unnamed is None else Dim(UNKNOWN, size)]


def _guess(size: Size, unnamed: Name) -> Dim:
    """A dim of a view with unknown origin, named only by a symbolic size."""
    new = new_dim(UNKNOWN if size == -1 else size)
    return replace(new, name=new.name or unnamed, purposeful=size == 1)
