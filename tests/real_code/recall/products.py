"""Finds products of matrices in a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import function_calls, method_calls, receiver_of

_PRODUCTS = {"matmul", "bmm", "mm", "baddbmm"}


def factors(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The two factors of each product: `a @ b`, `torch.matmul(a, b)`, `a.bmm(b)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.left, node.right
    for call in function_calls(tree, _PRODUCTS):
        if len(call.args) == 2:
            yield call.args[0], call.args[1]
    for call, receiver in method_calls(tree, _PRODUCTS):
        if len(call.args) == 1:
            yield receiver, call.args[0]


def untransposed(factor: ast.expr) -> ast.expr | None:
    """The receiver of a transpose: `x` of `x.transpose(1, 2)`, `x.mT`."""
    if isinstance(factor, ast.Attribute) and factor.attr in {"mT", "T"}:
        return factor.value
    return receiver_of(factor, {"transpose", "t", "swapaxes", "permute"})
