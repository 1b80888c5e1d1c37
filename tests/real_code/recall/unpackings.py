"""Finds the shape unpackings of a function: `b, t, c = x.shape`."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def unpackings(tree: ast.AST) -> Iterator[list[ast.Name]]:
    """The names of each unpacking."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_shape(node.value):
            target = node.targets[0]
            if isinstance(target, ast.Tuple):
                yield [name for name in target.elts if isinstance(name, ast.Name)]


def _is_shape(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args
    return isinstance(node, ast.Attribute) and node.attr == "shape"
