"""Whether a file replaces a function of torch: ``torch.stack = …``, ``patch("torch.sum")``."""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core import syntax
from namecheck.core.trees import last_word, nodes

_PATCHING: Final = frozenset({"delattr", "multiple", "object", "patch", "setattr"})
_OF_TORCH: Final = frozenset({"F", "Tensor", "nn", "torch"})


def patches_torch(tree: ast.Module) -> bool:
    """Whether a file may replace an attribute of torch, by its syntax."""
    return any(map(_writes_to_torch, nodes(tree)))


def file_patches_torch(data: bytes, filename: str) -> bool:
    """Whether the file with these bytes may; False where Python cannot read it."""
    if b"torch" not in data:
        return False
    try:
        return patches_torch(syntax.parse(data, filename).tree)
    except syntax.Refused:
        return False


def _writes_to_torch(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, (ast.Store, ast.Del)) and _is_of_torch(node.value)
    if isinstance(node, ast.Call) and last_word(node.func) in _PATCHING:
        return any(map(_is_of_torch, node.args))
    return False


def _is_of_torch(expression: ast.expr) -> bool:
    """``torch``, ``torch.Tensor``, ``"torch.sum"``."""
    if isinstance(expression, ast.Constant):
        return isinstance(expression.value, str) and expression.value.startswith("torch.")
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return isinstance(expression, ast.Name) and expression.id in _OF_TORCH
