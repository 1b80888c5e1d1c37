"""Sizes with symbols: ``d``, ``2*d``, ``h*w``, ``t+s``, ``seq-1``, ``d//2``.

A symbol is the size of an axis, at least 1. An `Expression` is a polynomial in symbols and
quotients, in a canonical form, so that equal expressions are equal values; without symbols it is a
plain int, never an `Expression`. It adds, multiplies and divides with ints and other expressions.
`==` compares values; to compare sizes use `same`, which may be undecided.

An expression with very many atoms is not computed: a program may square a sum again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.core.faults import Exhausted

# The bits of a number, the atoms of an expression, and the products of monomials in a product.
_MOST_BITS: Final = 1 << 10
_MOST_ATOMS: Final = 5_000
_MOST_PRODUCTS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Quotient:
    """A floor division with an unknown remainder: ``d//2``."""

    numerator: Known
    denominator: Known

    def __str__(self) -> str:
        return f"{_bracketed(self.numerator)}//{_bracketed(self.denominator)}"


Atom: TypeAlias = str | Quotient
Monomial: TypeAlias = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A sum of monomials, each with its coefficient; the monomial without atoms is the constant."""

    terms: tuple[tuple[Monomial, int], ...]

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            words = [str(abs(coefficient))] * (abs(coefficient) != 1 or not monomial)
            sign = "-" if coefficient < 0 else "+" if text else ""
            text += sign + "*".join([*words, *map(str, monomial)])
        return text

    def __add__(self, other: Known) -> Known:
        return _sum([*self.terms, *_terms(other)])

    def __mul__(self, other: Known) -> Known:
        if not isinstance(other, int) and len(self.terms) * len(other.terms) > _MOST_PRODUCTS:
            raise Exhausted
        return _sum(
            (_sorted(one + two), first * second)
            for one, first in self.terms
            for two, second in _terms(other)
        )

    def __neg__(self) -> Known:
        return self * -1

    def __sub__(self, other: Known) -> Known:
        return self + other * -1

    def __floordiv__(self, other: Known) -> Known:
        return divided(self, other)

    def __mod__(self, other: Known) -> Known:
        return self - divided(self, other) * other

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Known) -> Known:
        return -self + other

    def __rfloordiv__(self, other: Known) -> Known:
        return divided(other, self)

    def __rmod__(self, other: Known) -> Known:
        return other - divided(other, self) * self


Known: TypeAlias = int | Expression


def symbol(name: str) -> Expression:
    """The size of the axis called `name`."""
    return Expression((((name,), 1),))


def symbols(size: Known) -> frozenset[str]:
    """All symbols in a size, those in quotients included."""
    symbol_names: set[str] = set()
    for monomial, _ in _terms(size):
        for atom in monomial:
            if isinstance(atom, str):
                symbol_names.add(atom)
            else:
                symbol_names |= symbols(atom.numerator) | symbols(atom.denominator)
    return frozenset(symbol_names)


def same(size: Known, other_size: Known) -> bool | None:
    """Whether two sizes are equal; None where that depends on the symbols."""
    if isinstance(size, int) and isinstance(other_size, int):
        return size == other_size
    if size == other_size:
        return True
    difference = size - other_size
    if isinstance(difference, int):
        return difference == 0
    return False if is_at_least(1, difference) or is_at_least(1, difference * -1) else None


def is_at_least(least: int, size: Known) -> bool:
    """Whether a size is certainly not below an int."""
    lower_bound = 0
    for monomial, coefficient in _terms(size):
        lowest = _lowest(monomial)
        if monomial and (coefficient < 0 or lowest is None):
            return coefficient < 0 and _is_with_whole(monomial, coefficient, least, size)
        lower_bound += coefficient * (lowest or 0)
    return lower_bound >= least


def _is_with_whole(monomial: Monomial, coefficient: int, least: int, size: Known) -> bool:
    """As `is_at_least`, where a part ``n // d`` is subtracted: it is at most ``n / d``."""
    quotients = [atom for atom in monomial if isinstance(atom, Quotient)]
    if len(quotients) != 1 or not isinstance(quotients[0].denominator, int):
        return False
    numerator, number = quotients[0].numerator, quotients[0].denominator
    others = tuple(atom for atom in monomial if atom is not quotients[0])
    part, factors = _sum([(monomial, coefficient)]), _sum([(others, coefficient)])
    bound = computed(lambda whole: (whole - part) * number + factors * numerator, size)
    return number > 0 and bound is not None and is_at_least(least * number, bound)


def _lowest(monomial: Monomial) -> int | None:
    """A lower bound of a monomial: symbols are at least 1, quotients 0; None if unsure."""
    quotients = [atom for atom in monomial if isinstance(atom, Quotient)]
    if not quotients:
        return 1
    not_negative = all(
        is_at_least(0, each.numerator) and is_at_least(1, each.denominator) for each in quotients
    )
    return 0 if not_negative else None


def divided(size: Known, divisor: Known) -> Known:
    """``left // right``; a division with a remainder stays a quotient.

    A symbol is no 0. Raises ZeroDivisionError where Python does.
    """
    if isinstance(size, int) and isinstance(divisor, int):
        return size // divisor
    if size == 0:
        return 0
    if isinstance(divisor, int):
        return _by_number(size, divisor)
    exact = exactly(size, divisor)
    if exact is not None:
        return exact
    # A multiple of the divisor leaves the quotient of the rest: ``(h - p) // p`` is ``h//p - 1``.
    parts = [(_sum([term]), exactly(_sum([term]), divisor)) for term in _terms(size)]
    rest = _sum(chain.from_iterable(_terms(part) for part, whole in parts if whole is None))
    whole = _sum(chain.from_iterable(_terms(each) for _, each in parts if each is not None))
    return whole + _atom(Quotient(rest, divisor))


def _by_number(size: Known, number: int) -> Known:
    """Every coefficient divided; the remainder is a quotient of at least 0."""
    terms = [(monomial, divmod(coefficient, number)) for monomial, coefficient in _terms(size)]
    even = _sum((monomial, whole) for monomial, (whole, _) in terms)
    over = _sum((monomial, odd) for monomial, (_, odd) in terms)
    return even + (over // number if isinstance(over, int) else _atom(Quotient(over, number)))


def exactly(size: Known, divisor: Expression) -> Known | None:
    """The quotient without a remainder; None where there is none."""
    if len(divisor.terms) > 1:
        return 1 if size == divisor else None
    [(factors, number)] = divisor.terms
    divided: list[tuple[Monomial, int]] = []
    for monomial, coefficient in _terms(size):
        atoms = list(monomial)
        for atom in factors:
            if atom not in atoms:
                return None
            atoms.remove(atom)
        if coefficient % number:
            return None
        divided.append((tuple(atoms), coefficient // number))
    return _sum(divided)


def substituted(size: Known, substitutes: Mapping[str, Known]) -> Known:
    """A size with symbols replaced by sizes; symbols that are not in `substitutes` stay."""
    replaced: Known = 0
    for monomial, coefficient in _terms(size):
        product: Known = coefficient
        for atom in monomial:
            product = product * _value(atom, substitutes)
        replaced = replaced + product
    return replaced


def renamed(expression: Expression, rename: Callable[[str], str]) -> Expression:
    """An expression with its symbols renamed one-to-one: nothing in it merges, or cancels out."""
    terms = [
        (_sorted(tuple([_renamed_atom(atom, rename) for atom in monomial])), coefficient)
        for monomial, coefficient in expression.terms
    ]
    return Expression(tuple(terms if len(terms) < 2 else sorted(terms, key=_order)))


def _renamed_atom(atom: Atom, rename: Callable[[str], str]) -> Atom:
    if isinstance(atom, str):
        return rename(atom)
    sides = (atom.numerator, atom.denominator)
    return Quotient(*[side if isinstance(side, int) else renamed(side, rename) for side in sides])


def _value(atom: Atom, substitutes: Mapping[str, Known]) -> Known:
    if isinstance(atom, str):
        return substitutes.get(atom, symbol(atom))
    numerator = substituted(atom.numerator, substitutes)
    return divided(numerator, substituted(atom.denominator, substitutes))


def _terms(size: Known) -> tuple[tuple[Monomial, int], ...]:
    return (((), size),) if isinstance(size, int) else size.terms


def _atom(atom: Atom) -> Expression:
    if _atoms((atom,)) > _MOST_ATOMS:
        raise Exhausted
    return Expression((((atom,), 1),))


def _sum(terms: Iterable[tuple[Monomial, int]]) -> Known:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    nonzero = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
    if all(not monomial for monomial, _ in nonzero):
        return nonzero[0][1] if nonzero else 0
    if sum(_atoms(monomial) for monomial, _ in nonzero) > _MOST_ATOMS:
        raise Exhausted
    if not all(fits(coefficient) for _, coefficient in nonzero):
        raise Exhausted
    return Expression(tuple(sorted(nonzero, key=_order)))


def computed(combine: Callable[..., Known], *operand_sizes: Known) -> Known | None:
    """The result of arithmetic on sizes; None where it is too large to be one."""
    try:
        result = combine(*operand_sizes)
    except Exhausted:
        return None
    return None if isinstance(result, int) and not fits(result) else result


def fits(number: int) -> bool:
    """Whether a number may be a size; others, whose digits would fill pages, are unknown."""
    return number.bit_length() <= _MOST_BITS


def _atoms(monomial: Monomial) -> int:
    """The number of atoms in a monomial and in its quotients, and one."""
    return 1 + sum(
        1
        if isinstance(atom, str)
        else sum(_atoms(part) for part, _ in (*_terms(atom.numerator), *_terms(atom.denominator)))
        for atom in monomial
    )


def cost(size: Known) -> int:
    """The number of the monomials of a size."""
    return 1 if isinstance(size, int) else len(size.terms)


def _sorted(atoms: Monomial) -> Monomial:
    return tuple(sorted(atoms, key=str)) if len(atoms) > 1 else atoms


def _order(summand: tuple[Monomial, int]) -> tuple[bool, bool, int, list[str]]:
    """The sort key of monomials: negative ones and the constant last, longer products first."""
    monomial, coefficient = summand
    return coefficient < 0, not monomial, -len(monomial), list(map(str, monomial))


def _bracketed(size: Known) -> str:
    single = isinstance(size, int) or (size.terms[0][1] == 1 and len(size.terms[0][0]) == 1)
    bare = single and (isinstance(size, int) or len(size.terms) == 1)
    return str(size) if bare else f"({size})"


def listed(quantities: Iterable[object]) -> str:
    """Sizes as messages list them: ``[3, C, ?]``."""
    return f"[{', '.join(map(str, quantities))}]"
