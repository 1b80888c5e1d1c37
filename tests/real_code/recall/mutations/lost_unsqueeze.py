"""Forgets a dim of size 1: `x` for `x.unsqueeze(-1)` and for `x[:, None]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import method_calls
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call, receiver in method_calls(tree, {"unsqueeze"}):
        yield Replacement(call, source.of(receiver))
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            texts = [source.of(item) for item in items]
            if set(texts) <= {"None", ":", "..."} and texts.count("None") == 1:
                yield Replacement(node, source.of(node.value))


MUTATION = Mutation("lost unsqueeze", Wrongness.CERTAIN, _replacements)
