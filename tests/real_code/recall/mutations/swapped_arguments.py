"""Exchanges two neighbouring arguments that are variables: `attend(k, q, v)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness, both

_OTHERS: Final = {"isinstance", "getattr", "hasattr", "setattr", "range", "zip", "print"}
"""Functions of no tensors."""

_SIZES: Final = {"view", "reshape", "expand", "repeat", "permute", "transpose"}
"""Methods whose arguments are sizes or dims, which other mutations exchange."""


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or _name(call.func) in _OTHERS | _SIZES:
            continue
        for left, right in pairwise(call.args):
            if isinstance(left, ast.Name) and isinstance(right, ast.Name) and left.id != right.id:
                yield Replacement(both(left, right), f"{right.id}, {left.id}")


def _name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


MUTATION = Mutation("swapped arguments", Wrongness.ROLE, _replacements)
