"""The subscripts of an explicit contraction: ``einsum("bij,bjd->bid", …)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from namecheck.core.dims import Dim, Dims
from namecheck.interpreter.evaluation.events import Applied

# The position of the subscripts among the arguments.
SUBSCRIPTS: Final = {"einsum": 0, "einops.einsum": -1}
_LETTERS: Final = re.compile(r"\.\.\.|[A-Za-z]")


class Subscripts(NamedTuple):
    """The letters of each operand, and of the result; in einops, words."""

    operands: list[list[str]]
    result: list[str]


def of(applied: Applied) -> Subscripts | None:
    """The subscripts of a call; None where they are unknown, or too complex."""
    operator, inputs = applied.operator, applied.inputs
    equation = inputs[SUBSCRIPTS[operator]] if inputs else None
    if not isinstance(equation, str) or "->" not in equation or "(" in equation:
        return None
    before, _, after = equation.partition("->")
    split = str.split if operator.startswith("einops") else _LETTERS.findall
    return Subscripts([split(term) for term in before.split(",")], split(after))


def dims_of(letters: Sequence[str], dims: Dims) -> Iterator[tuple[str, Dim]]:
    """The letters of an operand with their dims, those before and after an ellipsis."""
    if "..." not in letters:
        if not dims.open and len(letters) == len(dims.prefix):
            yield from zip(letters, dims.prefix, strict=True)
        return
    front = letters.index("...")
    back = letters[front + 1 :]
    if len(back) <= dims.min_rank - front:
        yield from ((letter, dims[place]) for place, letter in enumerate(letters[:front]))
        yield from ((letter, dims[n - len(back)]) for n, letter in enumerate(back))
