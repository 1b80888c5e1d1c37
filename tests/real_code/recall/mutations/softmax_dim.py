"""Takes the softmax over a neighbour of the dim."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.dim_changes import wrong_dims
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, _: Source) -> Iterator[Replacement]:
    yield from wrong_dims(tree, {"softmax", "log_softmax"})


MUTATION = Mutation("softmax over the wrong dim", Wrongness.ROLE, _replacements)
