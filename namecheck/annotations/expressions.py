"""Sizes that an annotation computes from others: ``2*d``, ``h*w``, ``t+s``, ``d//2``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final, TypeAlias

from namecheck.core import parsing
from namecheck.core.dataclasses import dataclass
from namecheck.core.dims import Size
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.sizes import computed, fits, symbol

Term: TypeAlias = "int | str | Operation | None"
"""A number, the name of an axis, an operation; None for what this language cannot compute."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Two terms and the operator between them: one of ``+ - * // % **``."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Expression:
    """A size in its source form, with its term."""

    text: str
    term: Term

    @property
    def axes(self) -> frozenset[str]:
        """The names of the axes that occur in it."""
        return _axes(self.term)

    @property
    def factors(self) -> tuple[str, ...]:
        """The axes that it is the product of, in their order; empty for any other expression."""
        return _factors(self.term) or ()

    def value(self, axis_sizes: Mapping[str, int]) -> int | None:
        """Its value under these sizes of axes; None where one is missing or there is no value."""
        return _value(self.term, axis_sizes)

    def solution(self, axis: str, goal_size: int, axis_sizes: Mapping[str, int]) -> Solution | None:
        """The size of `axis` for which it has this value; None where it is not linear in `axis`."""
        line = _line(self.term, axis, axis_sizes)
        if line is None or line[0] == 0:
            return None
        slope, rest = line
        solution, remainder = divmod(goal_size - rest, slope)
        return Solution(None if remainder or solution < 0 else solution)


@dataclass(frozen=True, slots=True)
class Solution:
    """The one size that solves an expression; None where no size does."""

    size: int | None


_OPERATORS: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}

_COMPUTED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "**": lambda base, exponent: prod([base] * exponent),
}

_LARGEST_EXPONENT: Final = 64
# A power of a power of a number may have thousands of digits, and each further one many more.
_MOST_POWERS: Final = 1
_NO_SIZES: Final[Mapping[str, Size]] = {}


def read(text: str) -> Expression:
    """Parse an expression; raises SyntaxError for a text that is no Python expression."""
    term = _term(parsing.expression(text))
    return Expression(text, term if _powers(term) <= _MOST_POWERS else None)


def _term(expression: ast.expr) -> Term:
    if isinstance(expression, ast.Constant) and type(expression.value) is int:
        return expression.value if fits(expression.value) else None
    if isinstance(expression, ast.Name):
        return expression.id
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        return Operation("-", 0, _term(expression.operand))
    if isinstance(expression, ast.BinOp) and type(expression.op) in _OPERATORS:
        return Operation(
            _OPERATORS[type(expression.op)], _term(expression.left), _term(expression.right)
        )
    return None


def _powers(term: Term) -> int:
    """How many powers a term raises to one another."""
    if not isinstance(term, Operation):
        return 0
    return (term.operator == "**") + max(_powers(term.left), _powers(term.right))


def symbolic(term: Term, axis_sizes: Mapping[str, Size] = _NO_SIZES) -> Size:
    """The value of a term under these sizes of axes; an axis without a size is its symbol.

    UNKNOWN where the term has no symbolic form.
    """
    if term is None or isinstance(term, Unknown):
        return UNKNOWN
    if isinstance(term, str):
        return axis_sizes.get(term, symbol(term))
    if not isinstance(term, Operation):
        return term
    left, right = symbolic(term.left, axis_sizes), symbolic(term.right, axis_sizes)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if term.operator in ("//", "%") and right == 0:
        return UNKNOWN
    if term.operator == "**" and not _is_exponent(right):
        return UNKNOWN
    size = computed(_COMPUTED[term.operator], left, right)
    return UNKNOWN if size is None else size


def _is_exponent(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= _LARGEST_EXPONENT


def _axes(term: Term) -> frozenset[str]:
    if isinstance(term, Operation):
        return _axes(term.left) | _axes(term.right)
    return frozenset({term}) if isinstance(term, str) else frozenset()


def _factors(term: Term) -> tuple[str, ...] | None:
    if isinstance(term, str):
        return (term,)
    if not isinstance(term, Operation) or term.operator != "*":
        return None
    left, right = _factors(term.left), _factors(term.right)
    return None if left is None or right is None else left + right


def _value(term: Term, axis_sizes: Mapping[str, int]) -> int | None:
    if isinstance(term, str):
        return axis_sizes.get(term)
    if not isinstance(term, Operation):
        return term
    left, right = _value(term.left, axis_sizes), _value(term.right, axis_sizes)
    if left is None or right is None:
        return None
    if term.operator in ("//", "%") and right == 0:
        return None
    if term.operator == "**" and not _is_exponent(right):
        return None
    # No size is asked whether it is too large: a graph would be traced again for each size.
    number: int = _COMPUTED[term.operator](left, right)
    return number


def _line(term: Term, axis: str, axis_sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """The slope and the intercept of a term that is linear in `axis`."""
    if term == axis:
        return 1, 0
    if not isinstance(term, Operation) or axis not in _axes(term):
        extent = _value(term, axis_sizes)
        return None if extent is None else (0, extent)
    left, right = _line(term.left, axis, axis_sizes), _line(term.right, axis, axis_sizes)
    if left is None or right is None:
        return None
    if term.operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if term.operator == "-":
        return left[0] - right[0], left[1] - right[1]
    if term.operator == "*" and 0 in (left[0], right[0]):
        slope = left[0] * right[1] + right[0] * left[1]
        return slope, left[1] * right[1]
    return None
