"""Vectors that one function aligns both with the rows and with the columns of a matrix.

``K - m - m[:, None] + m.mean()``, ``A / d.sqrt() / d.sqrt().unsqueeze(1)``: the matrix is
symmetric, so that the vector has one value for each row, and for each column.
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
_ARITHMETIC: Final = frozenset({"add", "sub", "subtract", "mul", "multiply", "div", "divide"})
_OPERATIONS: Final = (ast.BinOp, ast.AugAssign, ast.Call)


def is_aligned_both_ways(node: ast.AST, around: ast.AST) -> bool:
    """Whether the code around an operation aligns an operand the other way as well.

    It gives a row of the operation a further dim at its end, or takes a column of the operation as
    the row of a tensor that both are about.
    """
    operands = operands_of(node)
    rows = {ast.dump(each) for each in operands if not isinstance(each, ast.Constant)}
    if not rows:
        return False
    if not rows.isdisjoint(map(ast.dump, _columns(around))):
        return True
    for operand in operands:
        column = widened(operand)
        if column is not None and _is_row(column, node, around):
            return True
    return False


def is_in(source: Source, node: Node) -> bool:
    """Whether the function around an operation aligns one of its operands both ways."""
    if not isinstance(node, _OPERATIONS):
        return False
    around: ast.AST = source.tree
    for function in nodes(source.tree):
        if isinstance(function, FUNCTIONS):
            last_line = function.end_lineno or function.lineno
            if function.lineno <= node.lineno <= last_line:
                around = function  # an inner function comes after the outer one
    return is_aligned_both_ways(node, around)


def operands_of(node: ast.AST) -> tuple[ast.expr, ...]:
    """The operands of an operation of two tensors: ``a - b``, ``a -= b``, ``a.sub(b)``."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    callee = node.func if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(callee, ast.Attribute):
        return ()
    if callee.attr.rstrip("_") not in _ARITHMETIC:
        return ()
    operands = (callee.value, *node.args) if len(node.args) == 1 else tuple(node.args)
    return operands if len(operands) == 2 else ()


def _is_row(vector: ast.expr, node: ast.AST, around: ast.AST) -> bool:
    """Whether a vector is aligned as it is with a tensor that an operation is about, too."""
    text, mentioned = ast.dump(vector), _words(*operands_of(node)) - _words(vector)
    for statement in nodes(around):
        if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)):
            continue
        is_operand = any(
            ast.dump(operand) == text and other is not operand
            for each in nodes(statement)
            for operand in operands_of(each)
            for other in operands_of(each)
            if _words(other) - _words(vector)
        )
        if is_operand and not mentioned.isdisjoint(_words(statement)):
            return True
    return False


def _words(*trees: ast.AST) -> set[str]:
    return {each.id for tree in trees for each in nodes(tree) if isinstance(each, ast.Name)}


def _columns(around: ast.AST) -> Iterator[ast.expr]:
    """The vectors that become columns: of ``d[:, None]``, ``d.unsqueeze(1)``, ``d.view(n, 1)``."""
    return filter(None, map(widened, nodes(around)))


def widened(node: ast.AST) -> ast.expr | None:
    """The vector that an expression makes a column."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        last = node.slice.elts[-1] if node.slice.elts else None
        return node.value if isinstance(last, ast.Constant) and last.value is None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        is_single = ast.unparse(node.args[-1]) in ("1", "-1")
        return node.func.value if node.func.attr in _INSERTING and is_single else None
    return None
