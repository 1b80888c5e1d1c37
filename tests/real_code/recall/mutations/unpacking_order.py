"""Unpacks sizes in the wrong order: `t, b, c = x.shape` for `b, t, c = x.shape`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness, both
from tests.real_code.recall.unpackings import unpackings


def _replacements(tree: ast.AST, _: Source) -> Iterator[Replacement]:
    for names in unpackings(tree):
        for left, right in pairwise(names):
            if "_" not in (left.id, right.id) and left.id != right.id:
                yield Replacement(both(left, right), f"{right.id}, {left.id}")


MUTATION = Mutation("unpacking order", Wrongness.NAMES, _replacements)
