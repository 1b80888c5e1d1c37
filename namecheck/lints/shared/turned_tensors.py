"""Tells which variables of a function hold a transposed tensor, by its text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from namecheck.core.trees import last_word

_TURNING: Final = frozenset(
    {"T", "mT", "movedim", "permute", "rot90", "swapaxes", "swapdims", "t", "transpose"}
)
# Variables that are libraries rather than tensors.
_LIBRARIES: Final = ("F", "functional", "np", "torch")


def variables(assignments: Sequence[ast.Assign]) -> frozenset[str]:
    """The variables that are given a transposed tensor: ``y = x.mT``."""
    return frozenset(
        last_word(one) for each in assignments if _is_turned(each.value) for one in each.targets
    )


def _is_turned(expression: ast.expr) -> bool:
    """Whether an expression is a transposed tensor, perhaps changed since: ``x.mT.contiguous()``.

    A product with a transposed tensor is none.
    """
    node: ast.AST | None = expression
    while node is not None:
        if isinstance(node, ast.Attribute) and node.attr in _TURNING:
            return True
        node = _followed(node)
    return False


def _followed(node: ast.AST) -> ast.AST | None:
    """The expression whose dims another one has."""
    if isinstance(node, ast.Call):
        of = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        is_function = isinstance(of, ast.Name) and of.id in _LIBRARIES
        if isinstance(node.func, ast.Attribute) and (not is_function or node.func.attr in _TURNING):
            return node.func
        return next(iter(node.args), None)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return node.value
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        return node.left
    return None
