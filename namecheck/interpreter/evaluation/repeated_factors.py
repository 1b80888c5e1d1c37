"""Matrix products with one factor twice, or in each round of a loop: ``rank = links @ rank``.

In a loop the factor has the same dims in each round, so that the matrix beside it is a square. So
is a matrix that stands between one factor, ``x @ a @ x`` or ``m @ a @ m.T``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final

from namecheck.core.trees import is_name, last_word, nodes

_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
_PRODUCTS: Final = frozenset({"bmm", "dot", "matmul", "mm", "mv"})
_TURNS: Final = frozenset({"T", "mT", "H", "mH", "t", "transpose", "conj"})

# The expressions that a loop assigns to each variable.
_Assigned = Mapping[str, Sequence[ast.expr]]


def is_around(product: ast.AST) -> bool:
    """Whether a product ends with the factor that its first factor begins with."""
    left, right = _factors(product) or (None, None)
    first, _ = _factors(left) or (None, None)
    if first is None or right is None:
        return False
    return ast.dump(_unturned(first)) == ast.dump(_unturned(right))


def is_of_transpose(product: ast.AST) -> bool:
    """Whether a product is that of an expression with its own transpose: ``f(x).T @ f(x)``."""
    factors = _factors(product)
    if len(factors) != 2:
        return False
    texts = {ast.dump(each) for each in factors}
    return len(texts) == 2 and len({ast.dump(_unturned(each)) for each in factors}) == 1


def _unturned(factor_node: ast.expr) -> ast.expr:
    """A factor without a transposition: ``m`` of ``m.T``."""
    while True:
        callee = factor_node.func if isinstance(factor_node, ast.Call) else factor_node
        if not isinstance(callee, ast.Attribute) or callee.attr not in _TURNS:
            return factor_node
        factor_node = callee.value


def repeated_matrix(product: ast.AST, around: ast.AST) -> int | None:
    """Which factor is a matrix that a loop multiplies the other one by, in each round: 0 or 1."""
    factors = _factors(product)
    for loop in nodes(around) if factors else ():
        if not isinstance(loop, _LOOPS) or product not in nodes(loop):
            continue
        by_word = _assigned(loop)
        for index in (0, 1):
            is_same = not _is_assigned(factors[index], by_word)
            if is_same and _comes_back(product, factors[1 - index], by_word):
                return index
    return None


def is_chain(product: ast.AST, around: ast.AST) -> bool:
    """Whether a loop multiplies its items: the last side of one is the first side of the next."""
    factors = _factors(product)
    if not factors and isinstance(product, ast.Call) and last_word(product.func) == "einsum":
        factors = product.args[1:]
    if len(factors) != 2:
        return False
    return any(
        isinstance(loop, (ast.For, ast.AsyncFor))
        and product in nodes(loop)
        and any(
            isinstance(item, ast.Name)
            and is_name(loop.target, item.id)
            and _comes_back(product, carried, _assigned(loop))
            for item, carried in permutations(factors)
        )
        for loop in nodes(around)
    )


def _factors(product: ast.AST | None) -> Sequence[ast.expr]:
    """The two factors of a matrix product; none of any other expression."""
    if isinstance(product, ast.BinOp) and isinstance(product.op, ast.MatMult):
        return product.left, product.right
    if not isinstance(product, ast.Call) or not isinstance(product.func, ast.Attribute):
        return ()
    if product.func.attr not in _PRODUCTS:
        return ()
    is_method = len(product.args) == 1
    factors = [product.func.value, *product.args] if is_method else product.args
    return factors if len(factors) == 2 else ()


def _assigned(loop: ast.AST) -> dict[str, list[ast.expr]]:
    by_word: dict[str, list[ast.expr]] = {}
    for node in nodes(loop):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            by_word.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            for target in nodes(node.target):
                if isinstance(target, ast.Name):
                    by_word.setdefault(target.id, [])
    return by_word


def _is_assigned(factor_node: ast.expr, by_word: _Assigned) -> bool:
    """Whether a factor may be another one in each round."""
    return any(isinstance(part, ast.Name) and part.id in by_word for part in nodes(factor_node))


def _comes_back(product: ast.AST, factor_node: ast.expr, by_word: _Assigned) -> bool:
    """Whether a loop assigns a product, or what has its dims, to a variable of its factor."""
    words = [part.id for part in _alike(factor_node, by_word) if isinstance(part, ast.Name)]
    values = (value for word in words for value in by_word.get(word, ()))
    return any(part is product for value in values for part in _alike(value, by_word))


def _alike(expression: ast.expr, by_word: _Assigned) -> Iterator[ast.expr]:
    """The expressions that an expression may have its dims from, through variables of a loop."""
    pending, seen = [expression], set[str]()
    while pending:
        part = pending.pop()
        yield part
        match part:
            case ast.BinOp(left, op, right) if not isinstance(op, ast.MatMult):
                pending += left, right
            case ast.UnaryOp(_, operand):
                pending.append(operand)
            case ast.IfExp(_, body, orelse):
                pending += body, orelse
            case ast.Call(ast.Attribute(value), args):
                pending += value, *args[:1]
            case ast.Name(word) if word not in seen:
                seen.add(word)
                pending += by_word.get(word, ())
