"""Forgets to transpose a factor of a product: `q @ k` for `q @ k.transpose(-2, -1)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness
from tests.real_code.recall.products import factors, untransposed


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for pair in factors(tree):
        for factor in pair:
            receiver = untransposed(factor)
            if receiver is not None:
                yield Replacement(factor, source.of(receiver))


MUTATION = Mutation("missing transpose", Wrongness.ROLE, _replacements)
