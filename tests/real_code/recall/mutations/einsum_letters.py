"""Exchanges two letters of one operand, or of the result, of an einsum."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from tests.real_code.recall.calls import function_calls
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call in function_calls(tree, {"einsum"}):
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                for text in _exchanged(argument.value):
                    yield Replacement(argument, repr(text))


def _exchanged(equation: str) -> Iterator[str]:
    """The equations in which two neighbours of one term are exchanged."""
    for place, (left, right) in enumerate(pairwise(equation)):
        if left.isalpha() and right.isalpha() and left != right:
            yield equation[:place] + right + left + equation[place + 2 :]


MUTATION = Mutation("einsum letters", Wrongness.ROLE, _replacements)
