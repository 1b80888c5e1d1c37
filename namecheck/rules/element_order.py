"""Views that put the elements of an axis at other positions, although all sizes agree: NC115.

A view keeps the order of the elements. It scrambles an axis unless the sizes left of the axis, and
those right of it, have the same products as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import (
    Dim,
    Dims,
    Size,
    are_apart,
    axis,
    new_dim,
    observed,
    own_size,
    product,
)
from namecheck.core.names import UNKNOWN, Axis, Contradiction, Unknown
from namecheck.core.sizes import Expression, symbols
from namecheck.rules.dim_map import show_sizes
from namecheck.rules.ratios import ONE, Ratio, factor, inferred, ratio


@dataclass(frozen=True, slots=True)
class Piece:
    """A dim of the input, a factor of one, or (unless `whole`) the rest of one that is split."""

    dim: Dim
    whole: bool = True

    def cut(self, share: Ratio) -> Piece:
        """A piece of it, with this size."""
        return Piece(Dim(self.dim.name, share.size), whole=False)

    @property
    def ratio(self) -> Ratio | None:
        """Its size as a ratio; None where that is unknown."""
        size = self.dim.size
        return None if isinstance(size, Unknown) or size in (0, -1) else ratio(size)


def pieces_of(dim: Dim) -> list[Piece]:
    """A dim, or the factors that it is merged from."""
    name = dim.name
    if not isinstance(name, Axis) or len(name.factors) < 2 or not name.ordered:
        return [Piece(dim)]
    return [Piece(axis(f)) for f in name.factors] if dim.size == own_size(name) else [Piece(dim)]


def check_order(pieces: Sequence[Piece], sizes: Sequence[Size]) -> None:
    """Raise if a view certainly mixes elements of different positions of an axis.

    It does not only if the new sizes left of the axis, and those right of it, are products of sizes
    that were on that side before.
    """
    if len(sizes) < 2:
        return  # all elements, in their order
    own, goal = _settled(
        [piece.ratio for piece in pieces], [Piece(Dim(None, size)).ratio for size in sizes]
    )
    own, goal = _of_one_item(pieces, sizes, own, goal)
    if _are_exchanged_alike(own, goal) or _gives_steps(own, goal):
        return
    before, after = _shares(own), _shares(goal)
    if not before or not after or before[-1] != after[-1]:
        surplus = before[-1] / after[-1] if before and after else ONE
        _check_sides(pieces, own, goal, sizes, surplus)
        if before and after:
            _check_total(surplus, pieces, sizes)
        return
    for place, piece in enumerate(pieces):
        target = _target(place, piece.dim, own, goal)
        if target is None:
            continue
        left = before[place] / after[target]
        right = after[target + 1] / before[place + 1]
        if (left.is_whole and right.is_whole) or _is_of_rest(left, right):
            continue
        if not _is_of_code(str(piece.dim.size)) or any(
            _is_never_whole(each, own) for each in (left, right)
        ):
            raise _scrambled(
                piece.dim, pieces, sizes, (ONE, right) if left.is_whole else (left, ONE)
            )
    _check_quotients(pieces, own, goal, sizes)
    _check_steps(pieces, own, goal, sizes)


def _settled(own_ratios: _Ratios, goal: _Ratios) -> tuple[_Ratios, _Ratios]:
    """The sizes where the number of elements says that one axis has a certain size.

    ``[b, two, c]`` can be viewed as ``[b, 2*c]`` only if ``two`` is 2.
    """
    before, after = _shares(own_ratios), _shares(goal)
    surplus = before[-1] / after[-1] if before and after else ONE
    if len(surplus.powers) != 1:
        return own_ratios, goal
    symbol_or_sum, power = surplus.powers[0]
    share = Ratio(surplus.numerator, surplus.denominator)
    number = ONE / share if power == 1 else share
    if abs(power) != 1 or number.denominator != 1 or number == ONE:
        return own_ratios, goal
    return _with_base(own_ratios, symbol_or_sum, number), _with_base(goal, symbol_or_sum, number)


def _of_one_item(
    pieces: Sequence[Piece], sizes: Sequence[Size], own_ratios: _Ratios, goal: _Ratios
) -> tuple[_Ratios, _Ratios]:
    """The sizes where a view says that the first dim has one item.

    ``x.view(1, n, -1)`` puts a 1 in its place, ``x.view(n, -1)`` leaves it out and keeps the rest.
    """
    size = pieces[0].dim.size if pieces else UNKNOWN
    if not isinstance(size, Expression) or not _is_of_code(str(size)):
        return own_ratios, goal
    is_left_out = len(sizes) == 2 < len(pieces) and goal[0] == own_ratios[1] != own_ratios[0]
    if sizes[0] != 1 and not is_left_out:
        return own_ratios, goal
    powers = ratio(size).powers
    if len(powers) != 1:
        return own_ratios, goal
    base = powers[0][0]
    return _with_base(own_ratios, base, ONE), _with_base(goal, base, ONE)


def _with_base(ratios: _Ratios, symbol_or_sum: str | Expression, replacement: Ratio) -> _Ratios:
    return [None if one is None else one.with_base(symbol_or_sum, replacement) for one in ratios]


def _check_quotients(
    pieces: Sequence[Piece], own_ratios: _Ratios, goal: _Ratios, sizes: Sequence[Size]
) -> None:
    """Raise if a dim whose size is a quotient is scrambled, as the windows of an image.

    ``[B, H//w, w, W//w, w]`` is viewed as ``[B, H//w * W//w, w*w]``. The sizes are those of the
    code, which splits dims without a remainder: `H` is ``w`` times the quotient, a whole number.
    """
    quotients = [_split(piece.dim.size) for piece in pieces]
    dividends = [one.dividend for one in quotients if one is not None]
    if not dividends:
        return
    own, new = own_ratios, goal
    for one in filter(None, quotients):
        own, new = (_with_base(side, one.dividend, one.in_quotients) for side in (own, new))
    before, after = _shares(own), _shares(new)
    if not before or not after or not all(each is not None and each.is_whole for each in new):
        return
    for place, quotient in enumerate(quotients):
        if quotient is None or dividends.count(quotient.dividend) > 1:
            continue
        targets = [
            n for n, each in enumerate(new) if each is not None and each.power(quotient.word)
        ]
        if len(targets) != 1:
            continue
        left = before[place] / after[targets[0]]
        right = after[targets[0] + 1] / before[place + 1]
        for quotient_of_sides in (left, right):
            if not quotient_of_sides.is_whole and (ONE / quotient_of_sides).is_whole:
                raise _scrambled(pieces[place].dim, pieces, sizes, (ONE / quotient_of_sides, ONE))


@dataclass(frozen=True, slots=True)
class _Quotient:
    """A size ``dividend//divisor``, and the `word` that stands for it where views are compared."""

    dividend: str
    divisor: Ratio

    @property
    def word(self) -> str:
        """A symbol that no program has."""
        return f"{self.dividend}//"

    @property
    def in_quotients(self) -> Ratio:
        """The dividend as a product of the quotient and the divisor."""
        return factor(self.word) * self.divisor


def _split(size: Size) -> _Quotient | None:
    """A size as a quotient of an axis or a number of the code; None if it is none."""
    if isinstance(size, (int, Unknown)):
        return None
    whole = ratio(size)
    positive = [base for base, power in whole.powers if power > 0]
    if whole.is_whole or len(positive) != 1 or whole.numerator != 1:
        return None
    base = positive[0]
    if not isinstance(base, str) or not _is_of_code(base) or whole.power(base) != 1:
        return None
    return _Quotient(base, factor(base) / whole)


_Ratios = Sequence[Ratio | None]


def _check_sides(
    pieces: Sequence[Piece],
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
        for place, piece in enumerate(pieces):
            if piece.dim != _REST and not _is_of_code(str(piece.dim.size)):
                continue
            target = _target(place, piece.dim, own_ratios, goal)
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
                raise _scrambled(piece.dim, pieces, sizes, (share, other_share))
    _check_steps(pieces, _without(surplus, own_ratios), goal, sizes)


def _without(surplus: Ratio, own_ratios: _Ratios) -> _Ratios:
    """The sizes without those that a view leaves out, which must be 1: ``[B*C, one, H]``."""
    kept = list(own_ratios)
    for one in own_ratios:
        if surplus != ONE and one is not None and (surplus / one).is_whole:
            surplus = surplus / one
            kept.remove(one)
    if surplus == ONE:
        return kept
    if surplus.is_whole and surplus.numerator == 1:
        for base in surplus.bases:  # a product is 1 only if each factor is: ``[B, 25*C, H*W]``
            own_ratios = _with_base(own_ratios, base, ONE)
    return own_ratios


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


def _gives_steps(own_ratios: _Ratios, goal: _Ratios) -> bool:
    """Whether a dim is divided by a step for each of two other dims, which are kept whole.

    ``[B, C, H, W]`` is viewed as ``[B, C//(s*s), H, s, W, s]``, on purpose, for models that were
    trained so.
    """
    new = [each for each in goal if each not in own_ratios]
    divided = [each for each in own_ratios if each not in goal]
    if len(divided) != 1 or len(new) != 3:
        return False
    return any(new.count(each) == 2 for each in new if each is not None)


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


def _check_total(share: Ratio, pieces: Sequence[Piece], sizes: Sequence[Size]) -> None:
    """Raise if a view has as many elements only where two dims of one tensor have one size."""
    upper, lower = share.upper, share.lower
    if are_apart(upper, lower):
        raise _displaced(upper, lower, pieces, sizes)


def _check_steps(
    pieces: Sequence[Piece], own_ratios: _Ratios, goal: _Ratios, sizes: Sequence[Size]
) -> None:
    """Raise if, walking from either end, another dim of the same tensor stands in an axis's place.

    ``[B, C, N]`` is viewed as ``[B, N, …]``, and both sizes were read from one tensor.
    """
    for step in (1, -1):
        _check_steps_from(own_ratios[::step], goal[::step], pieces, sizes)


def check_ends(dims: Dims, sizes: Sequence[Size]) -> None:
    """Check the known dims at either end of a tensor of unknown rank, as `_check_steps`."""
    goal = [Piece(Dim(None, size)).ratio for size in sizes]
    for known_dims, step in ((dims.prefix, 1), (dims.suffix, -1)):
        pieces = [piece for dim in known_dims for piece in pieces_of(dim)]
        own_ratios = [piece.ratio for piece in pieces]
        _check_steps_from(own_ratios[::step], goal[::step], pieces, sizes)


def _check_steps_from(
    own_ratios: _Ratios, goal: _Ratios, pieces: Sequence[Piece], sizes: Sequence[Size]
) -> None:
    old, new = list(own_ratios), list(goal)
    while old and new:
        one, other = old[0], new[0]
        if one is None or other is None:
            if one is not None and other is None and one in new and one not in own_ratios:
                _check_rest_of_piece(one, pieces, sizes)
            return
        if one == other:
            del old[0], new[0]
        elif (one / other).is_whole:
            old[0] = one / other
            del new[0]
        elif (other / one).is_whole:
            new[0] = other / one
            del old[0]
        elif _joins_quotient(old) or _joins_quotient(new):
            continue
        elif are_apart(one.size, other.size) and _are_observed(one, other):
            raise _displaced(one.size, other.size, pieces, sizes)
        else:
            return


def _joins_quotient(dim_ratios: list[Ratio | None]) -> bool:
    """Whether the second dim is a quotient, as ``T // n`` beside ``n``: both become one dim.

    A number that is no part of the divisor is a dim of its own, and may be any size.
    """
    one, other = dim_ratios[0], dim_ratios[1] if len(dim_ratios) > 1 else None
    if one is None or other is None or other.is_whole:
        return False
    if not one.powers and (one * other).lower == other.lower:
        return False
    dim_ratios[:2] = [one * other]
    return True


def _are_observed(*ratios: Ratio) -> bool:
    """Whether sizes are made of observed axes alone: a number may have any size, also another's."""
    bases = {base for each in ratios for base in each.bases}
    return all(isinstance(base, str) and naming.is_observed(base) for base in bases)


# The only dim whose size is unknown.
_REST: Final = axis("_")


def check_rest(dims: Sequence[Dim], sizes: Sequence[Size]) -> None:
    """Check the order where one dim has an unknown size, which the size -1 takes.

    Only sizes that the code itself names are compared so. A matrix of which one size is known may
    be square.
    """
    if len(dims) == 2:
        return
    vague = [dim for dim in dims if dim.size is UNKNOWN]
    words = {word for dim in dims if isinstance(dim.size, Expression) for word in symbols(dim.size)}
    if len(sizes) < 2 or not vague or UNKNOWN in sizes or not any(map(_is_of_code, words)):
        return
    if len(vague) > 1:
        check_ends(_ends(dims), sizes)
        return
    missing = _missing_size(dims, sizes)
    if missing is not None:
        filled = [replace(dim, size=missing) if dim.size is UNKNOWN else dim for dim in dims]
        check_order([piece for dim in filled for piece in pieces_of(dim)], sizes)
        return
    filled = [_REST if dim.size is UNKNOWN else dim for dim in dims]
    whole = product(dim.size for dim in filled)
    rest = inferred(whole, product(size for size in sizes if size != -1))
    solved = [rest if size == -1 else size for size in sizes]
    if rest is not UNKNOWN and not any(map(is_padded, solved)):
        # The unknown size may equal any other one, so that more would be guessed.
        pieces = [piece for dim in filled for piece in pieces_of(dim)]
        own, goal = (
            [piece.ratio for piece in pieces],
            [Piece(Dim(None, one)).ratio for one in solved],
        )
        _check_sides(pieces, own, goal, solved)
        _check_quotients(pieces, own, goal, solved)


def _ends(dims: Sequence[Dim]) -> Dims:
    """The dims before the first one of unknown size, and those after the last one."""
    places = [place for place, dim in enumerate(dims) if dim.size is UNKNOWN]
    return Dims(tuple(dims[: places[0]]), tuple(dims[places[-1] + 1 :]), open=True)


def _missing_size(dims: Sequence[Dim], sizes: Sequence[Size]) -> Size | None:
    """What the only unknown size must be for the view to have its number of elements."""
    known = product(dim.size for dim in dims if dim.size is not UNKNOWN)
    whole = UNKNOWN if -1 in sizes else product(sizes)
    if isinstance(known, Unknown) or isinstance(whole, Unknown) or 0 in (known, whole):
        return None
    missing = ratio(whole) / ratio(known)
    return missing.size if missing.is_whole else None


def _is_of_code(word: str) -> bool:
    return naming.is_observed(word) or naming.is_number(word)


def is_padded(size: Size) -> bool:
    """Whether a size is a symbolic one and a few more: ``L+1``."""
    return isinstance(size, Expression) and any(not monomial for monomial, _ in size.terms)


def _shares(ratios: Sequence[Ratio | None]) -> list[Ratio]:
    """The number of elements in the first 0, 1, 2, … dims; empty if any size is unknown."""
    factors = [each for each in ratios if each is not None]
    return list(accumulate(factors, mul, initial=ONE)) if len(factors) == len(ratios) else []


def _target(
    place: int, dim: Dim, shares: Sequence[Ratio | None], goal: Sequence[Ratio | None]
) -> int | None:
    """The position of the size that contains the axis at a place, if there is one for each axis.

    A view keeps the order of axes of one size. An axis that is merged in an unknown order is one
    where all its factors are in one size.
    """
    if not isinstance(dim.name, Axis) or dim.size != own_size(dim.name):
        return None
    words = [factor for factor in dim.name.factors if not factor.isdigit()]
    targets = {_counterpart(place, _places(word, shares), _places(word, goal)) for word in words}
    target = targets.pop() if len(targets) == 1 else None
    size = None if target is None else goal[target]
    return target if size is not None and size.is_whole else None


def _counterpart(place: int, places: Sequence[int], new_places: Sequence[int]) -> int | None:
    if place not in places or len(places) != len(new_places):
        return None
    return new_places[places.index(place)]


def _places(word: str, ratios: Sequence[Ratio | None]) -> list[int]:
    """The positions of the sizes that have a symbol as a factor; none where that is unclear."""
    powers = [0 if each is None else each.power(word) for each in ratios]
    if _is_of_code(word):
        # ``C // heads`` and ``heads`` are the two parts of one dim.
        powers = [max(power, 0) for power in powers]
    places = [place for place, power in enumerate(powers) if power]
    if any(powers[place] != 1 for place in places):
        return []
    several = len(places) > 1
    return [] if several and any(_is_in_sum(word, ratios[place]) for place in places) else places


def _is_in_sum(word: str, size_ratio: Ratio | None) -> bool:
    return size_ratio is not None and word not in size_ratio.bases


def _displaced(
    size: Size, other_size: Size, pieces: Sequence[Piece], sizes: Sequence[Size]
) -> Contradiction:
    old = Dims(tuple(piece.dim for piece in pieces))
    new = Dims(tuple(map(new_dim, sizes)))
    words = [naming.bare(word) for one in (size, other_size) for word in observed(one)]
    return Contradiction(
        "NC115",
        f"A view of {show_sizes(old)} as {show_sizes(new)} puts '{other_size}' where '{size}' "
        f"stands in the order of the elements: it is right only if {size} = {other_size}.",
        names=words,
        help=f"Keep '{size}' in its place in the view, then `transpose` or `permute`.",
    )


def _check_rest_of_piece(remainder: Ratio, pieces: Sequence[Piece], sizes: Sequence[Size]) -> None:
    """Raise if the size -1 stands where the rest of a dim belongs, which has a place further on.

    ``[..., heads*d]`` is viewed as ``[b, heads, -1, d]``.
    """
    if not any(_is_of_code(base) for base in remainder.bases if isinstance(base, str)):
        return
    known = show_sizes(Dims(tuple(piece.dim for piece in pieces)))
    raise Contradiction(
        "NC115",
        f"A view of a tensor with the dims {known} as "
        f"{show_sizes(Dims(tuple(map(new_dim, sizes))))} puts another dim between two parts of "
        f"one: it is right only if {remainder.size} = 1.",
        names=[naming.bare(word) for word in observed(remainder.size)],
        help="Keep the two parts side by side in the view, then `transpose` or `permute`.",
    )


def _scrambled(
    dim: Dim, pieces: Sequence[Piece], sizes: Sequence[Size], both_shares: tuple[Ratio, Ratio]
) -> Contradiction:
    split = _split(dim.size) is not None
    word = naming.bare(str(dim.size)) if split else str(naming.word(dim.name))
    old = Dims(tuple(piece.dim for piece in pieces))
    new = Dims(tuple(map(new_dim, sizes)))
    share = both_shares[0] / both_shares[1]
    one, other = share.upper, share.lower
    equal = f"{other} = {one}" if isinstance(one, int) else f"{one} = {other}"
    is_one = "" if isinstance(dim.size, int) else f" or {word} = 1"
    agreement = f" It is right only if {equal}{is_one}."
    is_of_code = dim == _REST or _is_of_code(str(dim.size))
    is_told = is_of_code and bool(share.powers)
    return Contradiction(
        "NC115",
        f"A view of {show_sizes(old)} as {show_sizes(new)} scrambles dim '{word}': a view keeps "
        f"the order of the elements, so each new position of '{word}' has elements of several old "
        f"ones.{agreement if is_told else ''}",
        names=[naming.bare(one) for one in observed(dim.size)] if split else [word],
        help=f"Keep '{word}' in its place in the view, then `transpose` or `permute`.",
    )
