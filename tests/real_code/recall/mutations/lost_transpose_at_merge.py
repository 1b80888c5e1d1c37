"""Merges heads without transposing them back: `x.reshape(b, t, c)`, `x.flatten(2)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import method_calls, receiver_of
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for _, receiver in method_calls(tree, {"view", "reshape", "flatten"}):
        moved = receiver_of(receiver, {"contiguous"}) or receiver
        original = receiver_of(moved, {"transpose", "permute"})
        if original is not None:
            yield Replacement(receiver, source.of(original))


MUTATION = Mutation("merged without transposing", Wrongness.CERTAIN, _replacements)
