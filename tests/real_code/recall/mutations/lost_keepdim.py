"""Forgets to keep the dim of a reduction: `x.mean(-1)` for `x.mean(-1, keepdim=True)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for item in call.keywords:
                if item.arg == "keepdim" and source.of(item.value) == "True":
                    yield Replacement(item.value, "False")


MUTATION = Mutation("lost keepdim", Wrongness.CERTAIN, _replacements)
