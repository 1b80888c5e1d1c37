"""Exchanges two neighbouring letters on one side of a pattern of einops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from tests.real_code.recall.calls import function_calls
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call in function_calls(tree, {"rearrange", "repeat", "reduce"}):
        for argument in call.args[1:2]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                for text in _exchanged(argument.value):
                    yield Replacement(argument, repr(text))


def _exchanged(pattern: str) -> Iterator[str]:
    """The patterns in which two neighbours without a parenthesis between them are exchanged."""
    words = pattern.replace("(", "( ").replace(")", " )").split()
    for place, (left, right) in enumerate(pairwise(words)):
        if left.isidentifier() and right.isidentifier() and left != right:
            text = " ".join([*words[:place], right, left, *words[place + 2 :]])
            yield text.replace("( ", "(").replace(" )", ")")


MUTATION = Mutation("einops letters", Wrongness.ROLE, _replacements)
