"""A tensor reduced along one of two dims, that meets the same tensor reduced along the other one.

``matrix.sum(0) + matrix.sum(1) - matrix.diag()`` makes sense of a square only: of a confusion of
classes, of a graph, of a board.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from namecheck.core.trees import is_name, nodes

_REDUCTIONS: Final = frozenset(
    {"all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "logsumexp", "max", "mean"}
    | {"min", "norm", "prod", "std", "sum", "var"}
)
_DIAGONALS: Final = frozenset({"diag", "diagonal"})
# Methods that keep the dims of a tensor.
_ELEMENTWISE: Final = frozenset(
    {"abs", "clamp", "clamp_min", "clip", "double", "exp", "float", "int", "log", "long", "pow"}
    | {"rsqrt", "sqrt", "square", "to"}
)


class _Reduced(NamedTuple):
    """What is left of a tensor: the text of the tensor, the reduction, and the dim that it took."""

    text: str
    called: str
    dim: int | None


def cross(node: ast.AST, around: ast.AST, index: int, other_index: int, rank: int) -> bool:
    """Whether two operands of an operation are one tensor of a rank, reduced along either side.

    They are reduced in one way along each of the last two dims, or one of them is the diagonal.
    """
    operands = _operands(node)
    if max(index, other_index) >= len(operands):
        return False
    sides = {rank - 1, rank - 2}
    every = ([*_reductions(operands[each], around)] for each in (index, other_index))
    for one, other in product(*every):
        if one.text != other.text:
            continue
        places = [None if each.dim is None else each.dim % rank for each in (one, other)]
        taken = {each for each in places if each is not None}
        if None in places and taken <= sides:
            return True
        if one.called == other.called and taken == sides:
            return True
    return False


def _operands(node: ast.AST) -> Sequence[ast.expr]:
    """The operands of an operation, in the order of its tensors."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    if isinstance(node, ast.Compare):
        return node.left, *node.comparators
    if not isinstance(node, ast.Call):
        return ()
    if node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
        return node.args[0].elts
    if isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        return node.func.value, *node.args
    return node.args


def _reductions(
    expression: ast.expr, around: ast.AST, looked_up: frozenset[str] = frozenset()
) -> Iterator[_Reduced]:
    """The reductions whose results an expression has the dims of, but for variables looked up."""
    if isinstance(expression, ast.BinOp):
        yield from _reductions(expression.left, around, looked_up)
        yield from _reductions(expression.right, around, looked_up)
    elif isinstance(expression, ast.Name) and expression.id not in looked_up:
        for assigned in _assigned(expression.id, around):
            yield from _reductions(assigned, around, looked_up | {expression.id})
    elif isinstance(expression, ast.Attribute) and expression.attr in ("values", "indices"):
        yield from _reductions(expression.value, around, looked_up)
    elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        if expression.func.attr in _ELEMENTWISE:
            yield from _reductions(expression.func.value, around, looked_up)
        yield from _reduction(expression, expression.func)


def _reduction(reducing: ast.Call, reducer: ast.Attribute) -> Iterator[_Reduced]:
    """A reduction as a method, or as a function: ``matrix.sum(0)``, ``torch.sum(matrix, 0)``."""
    called, whole, args = reducer.attr, reducer.value, reducing.args
    if isinstance(whole, ast.Name) and whole.id == "torch" and args:
        whole, args = args[0], args[1:]
    by_keyword = {keyword.arg: keyword.value for keyword in reducing.keywords}
    if called in _DIAGONALS and not (args and called == "diag"):
        yield _Reduced(ast.dump(whole), called, None)
    along = by_keyword.get("dim", by_keyword.get("axis", args[-1] if len(args) == 1 else None))
    if called in _REDUCTIONS and along is not None and "keepdim" not in by_keyword:
        try:
            place = ast.literal_eval(along)
        except ValueError:
            return
        if type(place) is int:
            yield _Reduced(ast.dump(whole), called, place)


def _assigned(word: str, around: ast.AST) -> Iterator[ast.expr]:
    """The expressions that are assigned to a variable."""
    for node in nodes(around):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if is_name(target, word):
                    yield node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    yield from (each for name, each in pairs if is_name(name, word))
        elif isinstance(node, ast.AugAssign) and is_name(node.target, word):
            yield node.value
