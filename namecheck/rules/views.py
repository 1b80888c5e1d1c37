"""Views that merge and split dimensions: ``view``, ``reshape``, ``ravel``.

A view keeps the order of the elements. The sizes determine where each dim of the result comes from:
a dim that is kept whole is the same dim, several adjacent ones become a merged dim, and a dim that
is split has parts that are named by their sizes. Where sizes are unknown, or their product is not
certainly the whole, the names are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import (
    OPEN,
    Dim,
    Dims,
    Size,
    agree,
    are_apart,
    axis,
    merged,
    new_dim,
    observed,
    own_size,
    product,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown
from namecheck.core.sizes import Expression, symbols
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import Sizes
from namecheck.rules.dim_map import joined, show_sizes, without_right
from namecheck.rules.ratios import ONE, Ratio, ratio
from namecheck.rules.registry import rule
from namecheck.rules.splits import part_of


@rule(memory="views")
def view(input: Tensor, size: Sizes | None = None) -> Dims:
    """The dims of a view with these sizes, one of which may be -1 (torch.Tensor.view)."""
    if isinstance(size, Unknown):
        return OPEN
    if size is None:
        return _resized_by_dtype(input.dims)
    _check_count(input.dims, size)
    if input.dims.open:
        _check_ends(input.dims, size)
        return Dims(tuple(_guess(one, UNKNOWN) for one in size))
    whole = product(input.dims.sizes)
    rest = inferred(whole, product(one for one in size if one != -1))
    sizes = [rest if one == -1 and rest is not UNKNOWN else one for one in size]
    if rest is UNKNOWN:
        _check_rest(input.dims.prefix, sizes)
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


def _resized_by_dtype(dims: Dims) -> Dims:
    """The dims under another dtype: a wider one makes the last dim shorter (Tensor.view)."""
    if dims.open and not dims.suffix:
        return dims.sizeless()
    last = dims.from_right(1)
    return dims if last is None else joined(without_right(dims, 1), Dims((Dim(last.name),)))


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


def inferred(whole: Size, other_size: Size) -> Size:
    """The size that -1 is replaced by, given the other sizes."""
    if isinstance(whole, Unknown) or isinstance(other_size, Unknown) or other_size == 0:
        return UNKNOWN
    return (ratio(whole) / ratio(other_size)).size


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


@dataclass(frozen=True, slots=True)
class _Part:
    """A dim of the input, a factor of one, or (unless `whole`) the rest of one that is split."""

    dim: Dim
    whole: bool = True

    def cut(self, share: Ratio) -> _Part:
        """A part of it, with this size."""
        return _Part(Dim(self.dim.name, share.size), whole=False)

    @property
    def ratio(self) -> Ratio | None:
        """Its size as a ratio; None where that is unknown."""
        size = self.dim.size
        return None if isinstance(size, Unknown) or size in (0, -1) else ratio(size)


def laid_out(dims: Sequence[Dim], sizes: Sequence[Size]) -> list[Dim]:
    """The dims of a view at these sizes; raises NC115 where it certainly scrambles axes.

    A size of -1 takes the rest of the elements where that is unknown.
    """
    parts = [part for dim in dims for part in _parts(dim)]
    try:
        _check_order(parts, sizes)
    except Contradiction:
        if not any(map(_is_padded, sizes)):
            raise
        # The rows are cut anew on purpose, as for relative positions.
        return [Dim()] * len(sizes)
    front, inner, left = _matched(parts, sizes)
    back, inner, left = _matched(inner[::-1], left[::-1], backwards=True)
    middle = _guessed(inner[::-1], left[::-1])
    return [*front, *middle, *back[::-1]]


def _parts(dim: Dim) -> list[_Part]:
    """A dim, or the factors that it is merged from."""
    name = dim.name
    if not isinstance(name, Axis) or len(name.factors) < 2 or not name.ordered:
        return [_Part(dim)]
    return [_Part(axis(f)) for f in name.factors] if dim.size == own_size(name) else [_Part(dim)]


def _matched(
    parts: Sequence[_Part], sizes: Sequence[Size], *, backwards: bool = False
) -> tuple[list[Dim], Sequence[_Part], Sequence[Size]]:
    """The dims up to the first uncertain one, and the parts and sizes that remain."""
    certain: list[Dim] = []
    while sizes:
        size = sizes[0]
        if size == 1:
            if backwards or (parts and parts[0].dim.size is UNKNOWN):
                break
            single = parts and parts[0].dim.size == 1
            certain.append(parts[0].dim if single else Dim(None, 1, purposeful=True))
            parts = parts[1:] if single else parts
        else:
            taken = _take(parts, size, backwards)
            if taken is None:
                break
            used, parts = taken
            certain.append(_together(used[::-1] if backwards else used, size))
        sizes = sizes[1:]
    return certain, parts, sizes


_Taken = tuple[list[_Part], list[_Part]]


def _take(parts: Sequence[_Part], size: Size, backwards: bool) -> _Taken | None:
    """The parts whose product is a size, and the remaining ones; None where that is uncertain."""
    if isinstance(size, Unknown) or size in (0, -1):
        return None
    need = ratio(size)
    used: list[_Part] = []
    remaining = list(parts)
    while need != ONE:
        own = remaining[0].ratio if remaining else None
        if own is None or (backwards and own == ONE):
            return None
        part = remaining.pop(0)
        if own == ONE:
            continue
        if (need / own).is_whole:
            used.append(part)
            need = need / own
        elif _may_be_cut(own, need, remaining):
            used.append(part.cut(need))
            remaining.insert(0, part.cut(own / need))
            need = ONE
        else:
            return None
    return used, remaining


def _may_be_cut(share: Ratio, need: Ratio, rest_parts: Sequence[_Part]) -> bool:
    """Whether a size is a part of another: it divides it, or the caller must know that it does."""
    if (share / need).is_whole:
        return True
    elsewhere = [base for other in rest_parts if other.ratio for base in other.ratio.bases]
    return bool(share.bases) and not need.bases.intersection(elsewhere)


def _together(parts: Sequence[_Part], size: Size) -> Dim:
    """The dim that whole parts are merged into; a part of a dim is named by its size."""
    if len(parts) == 1 and parts[0].whole:
        return parts[0].dim
    whole = merged([part.dim for part in parts])
    certain = all(part.whole for part in parts) and whole.name is not None
    return replace(whole, size=size) if certain else new_dim(size)


def _guessed(parts: Sequence[_Part], sizes: Sequence[Size]) -> list[Dim]:
    """The dims of a view whose dims come from unknown dims of the input."""
    larger = [part for part in parts if part.dim.size != 1]
    vague = (
        any(part.ratio is None and part.dim.size != 0 for part in larger)
        or UNKNOWN in sizes
        or -1 in sizes
    )
    unnamed = UNKNOWN if vague and any(part.dim.name is not None for part in larger) else None
    if len(sizes) != 1 or sizes[0] in (1, UNKNOWN) or not larger:
        return [_guess(size, unnamed) for size in sizes]
    size = product(part.dim.size for part in larger) if sizes[0] == -1 else sizes[0]
    if len(larger) == 1 and larger[0].whole:
        return [part_of(larger[0].dim, size)]
    return [replace(_together(larger, size), size=size) if unnamed is None else Dim(UNKNOWN, size)]


def _guess(size: Size, unnamed: Name) -> Dim:
    """A dim of a view with unknown origin, named only by a symbolic size."""
    new = new_dim(UNKNOWN if size == -1 else size)
    return replace(new, name=new.name or unnamed, purposeful=size == 1)


def _check_order(parts: Sequence[_Part], sizes: Sequence[Size]) -> None:
    """Raise if a view certainly mixes elements of different positions of an axis.

    It does not only if the new sizes left of the axis, and those right of it, are products of sizes
    that were on that side before.
    """
    if len(sizes) < 2:
        return  # all elements, in their order
    own = [part.ratio for part in parts]
    goal = [_Part(Dim(None, size)).ratio for size in sizes]
    if _are_exchanged_alike(own, goal):
        return
    before, after = _shares(own), _shares(goal)
    if not before or not after or before[-1] != after[-1]:
        surplus = before[-1] / after[-1] if before and after else ONE
        _check_sides(parts, own, goal, sizes, surplus)
        if before and after:
            _check_total(surplus, parts, sizes)
        return
    for place, part in enumerate(parts):
        target = _target(part.dim, own, goal)
        if target is None:
            continue
        left = before[place] / after[target]
        right = after[target + 1] / before[place + 1]
        if (left.is_whole and right.is_whole) or _is_of_rest(left, right):
            continue
        if not _is_of_code(str(part.dim.size)) or any(
            _is_never_whole(each, own) for each in (left, right)
        ):
            raise _scrambled(part.dim, parts, sizes, (before[place], after[target]))
    _check_steps(parts, own, goal, sizes)


_Ratios = Sequence[Ratio | None]


def _check_sides(
    parts: Sequence[_Part],
    own_ratios: _Ratios,
    goal: _Ratios,
    sizes: Sequence[Size],
    surplus: Ratio = ONE,
) -> None:
    """Raise if an axis is kept whole, but with more or fewer elements left or right of it.

    The number of elements on the other side need not be known. It is reported of the sizes that the
    code itself names alone: those of annotations may be 1. The view has its number of elements only
    if the `surplus` is 1: what is right then is not reported.
    """
    for reversed_ in (False, True):
        before, after = _running(own_ratios, reversed_), _running(goal, reversed_)
        for place, part in enumerate(parts):
            if part.dim != _REST and not _is_of_code(str(part.dim.size)):
                continue
            target = _target(part.dim, own_ratios, goal)
            if target is None or goal[target] != own_ratios[place]:
                continue
            share, other_share = before[place], after[target]
            if share is None or other_share is None or share == other_share:
                continue
            if _is_of_rest(share / other_share) or share / other_share in (surplus, ONE / surplus):
                continue
            sides = _side(own_ratios, place, reversed_), _side(goal, target, reversed_)
            if _divide(share, other_share) or (
                _one_has_more(*sides) and _is_never_whole(share / other_share, own_ratios)
            ):
                raise _scrambled(part.dim, parts, sizes, (share, other_share))
    _check_steps(parts, own_ratios, goal, sizes)


def _are_exchanged_alike(own_ratios: _Ratios, goal: _Ratios) -> bool:
    """Whether a view exchanges two axes whose sizes two functions have read, each one of them.

    They may be the sides of a square, of which either function has a word for one.
    """
    if len(own_ratios) != len(goal):
        return False
    moved = [(one, other) for one, other in zip(own_ratios, goal, strict=True) if one != other]
    if len(moved) != 2 or moved[0] != moved[1][::-1]:
        return False
    one, other = moved[0]
    if one is None or other is None or not _are_observed(one, other):
        return False
    return not are_apart(one.size, other.size)


def _is_of_rest(*quotients: Ratio) -> bool:
    """Whether quotients that must be 1 have only a dim of which nothing is known: it may be 1."""
    bases = {str(base) for quotient in quotients for base, _ in quotient.powers}
    return bool(bases) and all(naming.bare(base) == "_" for base in bases)


def _is_never_whole(quotient: Ratio, own_ratios: _Ratios) -> bool:
    """Whether a quotient is whole only if a dim has size 1, or two of one tensor have one size.

    A size of another tensor, or a number, may equal the one that it is divided by.
    """
    if quotient.is_whole:
        return False
    inverse = ONE / quotient
    if inverse.is_whole or are_apart(quotient.upper, quotient.lower):
        return True
    products = [ONE]
    for each in own_ratios:
        products = [ONE] if each is None else [ONE, *(one * each for one in products)]
        if inverse in products:
            return True
    return False


def _side(ratios: _Ratios, place: int, reversed_: bool) -> _Ratios:
    return ratios[place + 1 :] if reversed_ else ratios[:place]


def _one_has_more(side: _Ratios, other_side: _Ratios) -> bool:
    """Whether one side has all dims of the other, and more than these."""
    rest = [ratio for ratio in side if ratio != ONE]
    extra: list[Ratio | None] = []
    for each in other_side:
        if each in rest:
            rest.remove(each)
        elif each != ONE:
            extra.append(each)
    return bool(rest) is not bool(extra)


def _divide(share: Ratio, other_share: Ratio) -> bool:
    """Whether of two numbers of elements one is a multiple of the other."""
    quotient = share / other_share
    return ONE in (share, other_share) or quotient.is_whole or (ONE / quotient).is_whole


def _running(ratios: _Ratios, reversed_: bool) -> list[Ratio | None]:
    """The number of elements left of each dim, or right of it; None where it is unknown."""
    totals: list[Ratio | None] = []
    running: Ratio | None = ONE
    for each in ratios[::-1] if reversed_ else ratios:
        totals.append(running)
        running = None if running is None or each is None else running * each
    return totals[::-1] if reversed_ else totals


def _check_total(share: Ratio, parts: Sequence[_Part], sizes: Sequence[Size]) -> None:
    """Raise if a view has as many elements only where two dims of one tensor have one size."""
    upper, lower = share.upper, share.lower
    if are_apart(upper, lower):
        raise _displaced(upper, lower, parts, sizes)


def _check_steps(
    parts: Sequence[_Part], own_ratios: _Ratios, goal: _Ratios, sizes: Sequence[Size]
) -> None:
    """Raise if, walking from either end, another dim of the same tensor stands in an axis's place.

    ``[B, C, N]`` is viewed as ``[B, N, …]``, and both sizes were read from one tensor.
    """
    for step in (1, -1):
        _check_steps_from(own_ratios[::step], goal[::step], parts, sizes)


def _check_ends(dims: Dims, sizes: Sequence[Size]) -> None:
    """Check the known dims at either end of a tensor of unknown rank, as `_check_steps`."""
    goal = [_Part(Dim(None, size)).ratio for size in sizes]
    for known_dims, step in ((dims.prefix, 1), (dims.suffix, -1)):
        parts = [part for dim in known_dims for part in _parts(dim)]
        own_ratios = [part.ratio for part in parts]
        _check_steps_from(own_ratios[::step], goal[::step], parts, sizes)


def _check_steps_from(
    own_ratios: _Ratios, goal: _Ratios, parts: Sequence[_Part], sizes: Sequence[Size]
) -> None:
    old, new = list(own_ratios), list(goal)
    while old and new:
        one, other = old[0], new[0]
        if one is None or other is None:
            if one is not None and other is None and one in new and one not in own_ratios:
                _check_rest_of_part(one, parts, sizes)
            return
        if one == other:
            del old[0], new[0]
        elif (one / other).is_whole:
            old[0] = one / other
            del new[0]
        elif (other / one).is_whole:
            new[0] = other / one
            del old[0]
        elif are_apart(one.size, other.size) and _are_observed(one, other):
            raise _displaced(one.size, other.size, parts, sizes)
        else:
            return


def _are_observed(*ratios: Ratio) -> bool:
    """Whether sizes are made of observed axes alone: a number may have any size, also another's."""
    bases = {base for each in ratios for base in each.bases}
    return all(isinstance(base, str) and naming.is_observed(base) for base in bases)


# The only dim whose size is unknown.
_REST: Final = axis("_")


def _check_rest(dims: Sequence[Dim], sizes: Sequence[Size]) -> None:
    """Check the order where one dim has an unknown size, which the size -1 takes.

    Only sizes that the code itself names are compared so.
    """
    vague = [dim for dim in dims if dim.size is UNKNOWN]
    words = {word for dim in dims if isinstance(dim.size, Expression) for word in symbols(dim.size)}
    if len(sizes) < 2 or len(vague) != 1 or UNKNOWN in sizes or not any(map(_is_of_code, words)):
        return
    filled = [_REST if dim.size is UNKNOWN else dim for dim in dims]
    whole = product(dim.size for dim in filled)
    rest = inferred(whole, product(size for size in sizes if size != -1))
    solved = [rest if size == -1 else size for size in sizes]
    if rest is not UNKNOWN and not any(map(_is_padded, solved)):
        # The unknown size may equal any other one, so that more would be guessed.
        parts = [part for dim in filled for part in _parts(dim)]
        goal = [_Part(Dim(None, size)).ratio for size in solved]
        _check_sides(parts, [part.ratio for part in parts], goal, solved)


def _is_of_code(word: str) -> bool:
    return naming.is_observed(word) or naming.is_number(word)


def _is_padded(size: Size) -> bool:
    """Whether a size is a symbolic one and a few more: ``L+1``."""
    return isinstance(size, Expression) and any(not monomial for monomial, _ in size.terms)


def _shares(ratios: Sequence[Ratio | None]) -> list[Ratio]:
    """The number of elements in the first 0, 1, 2, … dims; empty if any size is unknown."""
    factors = [each for each in ratios if each is not None]
    return list(accumulate(factors, mul, initial=ONE)) if len(factors) == len(ratios) else []


def _target(dim: Dim, shares: Sequence[Ratio | None], goal: Sequence[Ratio | None]) -> int | None:
    """The position of the only size that contains an axis, if it occurs once on either side."""
    if not isinstance(dim.name, Axis) or dim.size != own_size(dim.name):
        return None
    if _only(dim.name.name, shares) is None:
        return None
    target = _only(dim.name.name, goal)
    size = None if target is None else goal[target]
    return target if size is not None and size.is_whole else None


def _only(word: str, ratios: Sequence[Ratio | None]) -> int | None:
    powers = [0 if each is None else each.power(word) for each in ratios]
    if _is_of_code(word):
        # ``C // heads`` and ``heads`` are the two parts of one dim.
        powers = [max(power, 0) for power in powers]
    return powers.index(1) if [power for power in powers if power] == [1] else None


def _displaced(
    size: Size, other_size: Size, parts: Sequence[_Part], sizes: Sequence[Size]
) -> Contradiction:
    old = Dims(tuple(part.dim for part in parts))
    new = Dims(tuple(map(new_dim, sizes)))
    words = [naming.bare(word) for one in (size, other_size) for word in observed(one)]
    return Contradiction(
        "NC115",
        f"A view of {show_sizes(old)} as {show_sizes(new)} puts '{other_size}' where '{size}' "
        f"stands in the order of the elements: it is right only if {size} = {other_size}.",
        names=words,
        help=f"Keep '{size}' in its place in the view, then `transpose` or `permute`.",
    )


def _check_rest_of_part(remainder: Ratio, parts: Sequence[_Part], sizes: Sequence[Size]) -> None:
    """Raise if the size -1 stands where the rest of a dim belongs, which has a place further on.

    ``[..., heads*d]`` is viewed as ``[b, heads, -1, d]``.
    """
    if not any(_is_of_code(base) for base in remainder.bases if isinstance(base, str)):
        return
    known = show_sizes(Dims(tuple(part.dim for part in parts)))
    raise Contradiction(
        "NC115",
        f"A view of a tensor with the dims {known} as "
        f"{show_sizes(Dims(tuple(map(new_dim, sizes))))} puts another dim between two parts of "
        f"one: it is right only if {remainder.size} = 1.",
        names=[naming.bare(word) for word in observed(remainder.size)],
        help="Keep the two parts side by side in the view, then `transpose` or `permute`.",
    )


def _scrambled(
    dim: Dim, parts: Sequence[_Part], sizes: Sequence[Size], both_shares: tuple[Ratio, Ratio]
) -> Contradiction:
    word = str(naming.word(dim.name))
    old = Dims(tuple(part.dim for part in parts))
    new = Dims(tuple(map(new_dim, sizes)))
    share = both_shares[0] / both_shares[1]
    agreement = f" It is right only if {share.upper} = {share.lower}."
    is_of_code = dim == _REST or _is_of_code(str(dim.size))
    return Contradiction(
        "NC115",
        f"A view of {show_sizes(old)} as {show_sizes(new)} scrambles dim '{word}': a view keeps "
        f"the order of the elements, so each new position of '{word}' has elements of several old "
        f"ones.{agreement if is_of_code else ''}",
        names=[word],
        help=f"Keep '{word}' in its place in the view, then `transpose` or `permute`.",
    )
