"""Puts a mask on the wrong side: `mask[:, :, None]` for `mask[:, None, :]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from tests.real_code.recall.calls import method_calls
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            texts = [source.of(item) for item in node.slice.elts]
            if set(texts) == {"None", ":"} and len(texts) > 2:
                for place, (left, right) in enumerate(pairwise(texts)):
                    if {left, right} == {"None", ":"} and place:
                        items = [*texts[:place], right, left, *texts[place + 2 :]]
                        yield Replacement(node, f"{source.of(node.value)}[{', '.join(items)}]")
    for call, _ in method_calls(tree, {"masked_fill", "masked_fill_"}):
        if call.args:
            yield Replacement(call.args[0], f"({source.of(call.args[0])}).transpose(-1, -2)")


MUTATION = Mutation("mask on the wrong side", Wrongness.ROLE, _replacements)
