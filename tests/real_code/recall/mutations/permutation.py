"""Permutes dims wrongly: `permute(0, 1, 2, 3)` for `permute(0, 2, 1, 3)`, and the like."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import adjacent_swaps, method_calls, sizes, without_arguments
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call, _ in method_calls(tree, {"permute"}):
        for texts in adjacent_swaps(source, sizes(call)):
            yield Replacement(call, without_arguments(source, call, ", ".join(texts)))


MUTATION = Mutation("permutation", Wrongness.ROLE, _replacements)
