"""Exchanges two neighbouring sizes of a view: `view(b, t, d, h)` for `view(b, t, h, d)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import adjacent_swaps, method_calls, sizes, without_arguments
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call, _ in method_calls(tree, {"view", "reshape"}):
        if len(sizes(call)) > 2:
            for texts in adjacent_swaps(source, sizes(call)):
                yield Replacement(call, without_arguments(source, call, ", ".join(texts)))


MUTATION = Mutation("factor order", Wrongness.ROLE, _replacements)
