"""Tensors that stand for a missing argument: ``def f(x, betas=torch.zeros(1))``.

A function that compares the elements of such a default recognises it by them, as another one
compares with None: ``if torch.norm(betas) == 0``. The branch for a real argument never sees it.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.trees import children, nodes

# What a tensor has beside its elements.
_DESCRIPTIONS: Final = frozenset(
    {"device", "dim", "dtype", "names", "ndim", "numel", "requires_grad", "shape", "size"}
)
_OF_WHOLE: Final = frozenset({"isinstance", "len"})
# What asks a tensor for its elements.
_QUESTIONS: Final = frozenset({"all", "allclose", "any", "count_nonzero", "equal", "is_nonzero"})


def tests_elements(definition: ast.AST, word: str) -> bool:
    """Whether a function branches on the elements of a variable, or compares them."""
    for node in nodes(definition):
        if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            tests = [node.test]
        elif isinstance(node, ast.Compare):
            tests = [node.left, *node.comparators]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            tests = [node.operand]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _QUESTIONS:
            tests = [node]
        else:
            continue
        if any(_reads_elements(test, word) for test in tests):
            return True
    return False


def _reads_elements(node: ast.AST, word: str) -> bool:
    """Whether the value of a test depends on the elements of a variable: not on its shape alone."""
    if isinstance(node, ast.Name):
        return node.id == word
    if isinstance(node, ast.Attribute) and node.attr in _DESCRIPTIONS:
        return False
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _OF_WHOLE:
        return False
    if isinstance(node, ast.Compare) and all(
        isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops
    ):
        return False
    return any(_reads_elements(child, word) for child in children(node))
