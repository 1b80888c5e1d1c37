"""Forgets to remove a dim of size 1, so that `(B, 1)` meets `(B,)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import method_calls, number
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call, receiver in method_calls(tree, {"squeeze"}):
        if len(call.args) == 1 and number(call.args[0]) is not None:
            yield Replacement(call, source.of(receiver))


MUTATION = Mutation("lost squeeze", Wrongness.CERTAIN, _replacements)
