"""Vectors that one function aligns both with the rows and with the columns of a matrix.

``K - m - m[:, None] + m.mean()``, ``A / d / d.unsqueeze(1)``: the matrix is symmetric, so that the
vector has one value for each row, and for each column.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.core.trees import nodes
from namecheck.interpreter.domain.scopes import FUNCTIONS

_INSERTING: Final = frozenset({"unsqueeze", "view", "reshape"})


def is_aligned_both_ways(node: ast.AST, around: ast.AST) -> bool:
    """Whether the code around an operation gives an operand a further dim at its end as well."""
    if not isinstance(node, ast.BinOp):
        return False
    texts = {
        ast.dump(operand)
        for operand in (node.left, node.right)
        if isinstance(operand, (ast.Name, ast.Attribute))
    }
    return not texts.isdisjoint(map(ast.dump, _columns(around)))


def is_in(source: Source, node: Node) -> bool:
    """Whether the function around an operation aligns one of its operands both ways."""
    if not isinstance(node, ast.BinOp):
        return False
    around: ast.AST = source.tree
    for function in nodes(source.tree):
        if isinstance(function, FUNCTIONS):
            last_line = function.end_lineno or function.lineno
            if function.lineno <= node.lineno <= last_line:
                around = function  # an inner function comes after the outer one
    return is_aligned_both_ways(node, around)


def _columns(around: ast.AST) -> Iterator[ast.expr]:
    """The vectors that become columns: of ``d[:, None]``, ``d.unsqueeze(1)``, ``d.view(n, 1)``."""
    for node in nodes(around):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            last = node.slice.elts[-1] if node.slice.elts else None
            if isinstance(last, ast.Constant) and last.value is None:
                yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            last = node.args[-1]
            is_single = ast.unparse(last) in ("1", "-1")
            if node.func.attr in _INSERTING and is_single:
                yield node.func.value
