"""Transposes a factor of a product that is right as it is: `attn @ v.transpose(-2, -1)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness
from tests.real_code.recall.products import factors, untransposed


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for _, factor in factors(tree):
        if untransposed(factor) is None:
            yield Replacement(factor, f"({source.of(factor)}).transpose(-2, -1)")


MUTATION = Mutation("superfluous transpose", Wrongness.ROLE, _replacements)
