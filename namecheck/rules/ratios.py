"""Sizes as products of powers, so that one can be divided by another: ``d/heads``, ``h*w/2``.

A view splits dims without a remainder, so ``d//heads`` equals ``d/heads`` here; a quotient of a sum
was rounded (``(n+1)//2``), and stays whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import gcd

from namecheck.core.dataclasses import dataclass
from namecheck.core.dims import Size
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.sizes import Expression, Known, Quotient, divided, exactly, symbol, symbols


@dataclass(frozen=True, slots=True)
class Ratio:
    """A fraction in lowest terms times powers of symbols, and of sums without a common factor."""

    numerator: int
    denominator: int = 1
    powers: tuple[tuple[str | Expression, int], ...] = ()

    def __mul__(self, multiplier: Ratio) -> Ratio:
        return _product(
            self.numerator * multiplier.numerator,
            self.denominator * multiplier.denominator,
            [*self.powers, *multiplier.powers],
        )

    def __truediv__(self, divisor: Ratio) -> Ratio:
        inverse = [(base, -power) for base, power in divisor.powers]
        return _product(
            self.numerator * divisor.denominator,
            self.denominator * divisor.numerator,
            [*self.powers, *inverse],
        )

    def with_base(self, symbol_or_sum: str | Expression, replacement: Ratio) -> Ratio:
        """The ratio in which something else stands for a symbol or a sum."""
        result, power = self, dict(self.powers).get(symbol_or_sum, 0)
        step = replacement / factor(symbol_or_sum)
        for _ in range(abs(power)):
            result = result * step if power > 0 else result / step
        return result

    @property
    def is_whole(self) -> bool:
        """Whether it is an integer times positive powers."""
        return self.denominator == 1 and all(power > 0 for _, power in self.powers)

    def power(self, base: str) -> int:
        """The power of a symbol, counting each sum that contains it as one."""
        inside = any(not isinstance(each, str) and base in symbols(each) for each, _ in self.powers)
        return inside + sum(power for each, power in self.powers if each == base)

    @property
    def bases(self) -> frozenset[str | Expression]:
        """The factors with a positive power."""
        return frozenset(base for base, power in self.powers if power > 0)

    @property
    def size(self) -> Size:
        """The ratio as a size; a division is a quotient."""
        lower = self.lower
        return UNKNOWN if lower == 0 else divided(self.upper, lower)

    @property
    def upper(self) -> Known:
        """What is above the line of the fraction."""
        return _size(self.numerator, [(b, power) for b, power in self.powers if power > 0])

    @property
    def lower(self) -> Known:
        """What is below the line of the fraction."""
        return _size(self.denominator, [(b, -power) for b, power in self.powers if power < 0])


ONE = Ratio(1)


def factor(symbol_or_sum: str | Expression) -> Ratio:
    """A symbol, or a sum without a common factor, as a ratio."""
    return Ratio(1, 1, ((symbol_or_sum, 1),))


def ratio(size: Known) -> Ratio:
    """A size as a ratio, with the common factor of its terms taken out."""
    if isinstance(size, int):
        return Ratio(size)
    number = gcd(*(coefficient for _, coefficient in size.terms))
    shared = Counter(size.terms[0][0])
    for monomial, _ in size.terms[1:]:
        shared &= Counter(monomial)
    result = Ratio(number)
    quotient: Known = divided(size, number)
    for atom in shared.elements():
        if isinstance(atom, Quotient):
            whole = Expression((((atom,), 1),))
            exact = _is_exact(atom)
            parts = ratio(atom.numerator) / ratio(atom.denominator) if exact else None
            result = result * (parts or factor(whole))
            quotient = divided(quotient, whole)
        else:
            result = result * factor(atom)
            quotient = divided(quotient, symbol(atom))
    if isinstance(quotient, int):
        return result * Ratio(quotient)
    return result * factor(quotient)


def _is_exact(quotient: Quotient) -> bool:
    """Whether a quotient is one without a remainder; ``(n+1)//2`` is n over 2 rounded up."""
    return isinstance(quotient.numerator, int) or len(quotient.numerator.terms) == 1


def _product(
    numerator: int, denominator: int, factors: Iterable[tuple[str | Expression, int]]
) -> Ratio:
    if denominator == 0:
        raise ZeroDivisionError
    divisor = gcd(numerator, denominator) * (1 if denominator > 0 else -1)
    powers: dict[str | Expression, int] = {}
    for base, power in factors:
        powers[base] = powers.get(base, 0) + power
    nonzero = [(base, power) for base, power in powers.items() if power]
    powers_in_order = tuple(sorted(nonzero, key=str))
    return Ratio(numerator // divisor, denominator // divisor, powers_in_order)


def _size(number: int, factors: Iterable[tuple[str | Expression, int]]) -> Known:
    size: Known = number
    for base, power in factors:
        for _ in range(power):
            size = size * (symbol(base) if isinstance(base, str) else base)
    return size


def inferred(whole: Size, other_size: Size) -> Size:
    """The size that -1 is replaced by, given the other sizes."""
    if isinstance(whole, Unknown) or isinstance(other_size, Unknown) or other_size == 0:
        return UNKNOWN
    rest = ratio(whole) / ratio(other_size)
    if rest.is_whole or isinstance(other_size, int):
        return rest.size
    exact = exactly(whole, other_size)
    return rest.size if exact is None else exact
