"""Walks over syntax trees (`ast.walk` takes three times as long), and what a node changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final, TypeGuard

# The fields without nodes, in every kind of node, or with nodes that nobody needs: the context of
# a name, and the operator of an expression.
_PLAIN: Final = frozenset(
    [
        "ctx",
        "op",
        "ops",
        "id",
        "attr",
        "arg",
        "module",
        "level",
        "asname",
        "rest",
        "is_async",
        "simple",
        "lineno",
        "conversion",
        "tag",
        "str",
        "kind",
        "type_comment",
        "type_ignores",
        "kwd_attrs",
    ]
)
# These contain a node in some kinds of nodes; in the listed kinds, words or a constant.
_WORDS: Final = {
    "name": [
        "FunctionDef",
        "AsyncFunctionDef",
        "ClassDef",
        "alias",
        "ExceptHandler",
        "MatchStar",
        "MatchAs",
        "TypeVar",
        "ParamSpec",
        "TypeVarTuple",
    ],
    "names": ["Global", "Nonlocal"],
    "value": ["Constant", "MatchSingleton"],
}

_CHANGING_WORDS: Final = """
append add appendleft extend extendleft update insert pop popleft popitem remove discard clear
reverse sort setdefault rotate intersection_update difference_update symmetric_difference_update
"""
# The methods that change a list, a set or a dict.
CHANGING: Final = frozenset(_CHANGING_WORDS.split())
# All methods of lists, sets and dicts.
OF_CONTAINERS: Final = frozenset({*dir(list), *dir(dict), *dir(set), *CHANGING})


def _fields(node_type: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that contain nodes."""
    return tuple(
        name
        for name in node_type._fields
        if name not in _PLAIN and node_type.__name__ not in _WORDS.get(name, ())
    )


_FIELDS: Final = {
    kind: _fields(kind)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
# The kinds whose lists of nodes may contain None: ``{**more}``, a parameter without a default.
_GAPPED: Final = frozenset({ast.Dict, ast.arguments})


def children(node: ast.AST) -> list[ast.AST]:
    """The child nodes of a node, in order, without its context and its operators."""
    nodes_below: list[ast.AST] = []
    add_children(node, nodes_below)
    return nodes_below


def nodes(*tops: ast.AST) -> list[ast.AST]:
    """Nodes and all below them, outer ones first, without contexts and operators."""
    every = [*tops]
    for node in every:  # it grows meanwhile
        add_children(node, every)
    return every


def is_name(node: ast.AST | None, word: str) -> bool:
    """Whether a node is the variable with this name."""
    return isinstance(node, ast.Name) and node.id == word


def last_word(expression: ast.expr) -> str:
    """The last part of a dotted name; empty for any other expression."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def is_reversed(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """Whether a node takes items backwards: ``x[:, ::-1]``."""
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    steps = [part.step for part in parts if isinstance(part, ast.Slice)]
    return any(isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) for step in steps)


def add_children(node: ast.AST, added: list[ast.AST]) -> None:
    """Append the child nodes of a node to a list."""
    kind = node.__class__
    for name in _FIELDS[kind]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            added += [item for item in value if item] if kind in _GAPPED else value
        elif value is not None:
            added.append(value)


def compared_pairs(comparison: ast.Compare) -> Iterator[tuple[ast.cmpop, ast.expr, ast.expr]]:
    """The comparisons of two that hold where a chain holds.

    Those of neighbours; and in ``x.ndim == y.ndim == 3`` that of each side with the constant.
    """
    sides = [comparison.left, *comparison.comparators]
    neighbours = list(zip(comparison.ops, pairwise(sides), strict=True))
    for is_run, run in groupby(neighbours, lambda pair: isinstance(pair[0], ast.Eq)):
        pairs = list(run)
        equal = [pairs[0][1][0], *(right for _, (_, right) in pairs)]
        constant = next((side for side in equal if _is_literal(side)), None)
        if is_run and constant is not None and len(pairs) > 1:
            yield from ((pairs[0][0], side, constant) for side in equal if side is not constant)
        else:
            yield from ((operator, left, right) for operator, (left, right) in pairs)


def _is_literal(expression: ast.expr) -> bool:
    parts = expression.elts if isinstance(expression, (ast.Tuple, ast.List)) else [expression]
    return all(isinstance(part, ast.Constant) for part in parts)


_MOST_OPERANDS: Final = 64


@lru_cache(maxsize=64)
def grouped_operands(operation: ast.BoolOp) -> Sequence[ast.expr]:
    """The operands of ``a and b and …``; of very many, groups that are operations themselves.

    An analysis that follows each operand with all that those before it imply costs the square of
    their number.
    """
    members: Sequence[ast.expr] = operation.values
    while len(members) > _MOST_OPERANDS:
        starts = range(0, len(members), _MOST_OPERANDS)
        groups = (members[start : start + _MOST_OPERANDS] for start in starts)
        members = [_group(operation, group) for group in groups]
    return members


def _group(operation: ast.BoolOp, members: Sequence[ast.expr]) -> ast.expr:
    first, last = members[0], members[-1]
    return ast.BoolOp(
        operation.op,
        [*members],
        lineno=first.lineno,
        col_offset=first.col_offset,
        end_lineno=last.end_lineno,
        end_col_offset=last.end_col_offset,
    )


def changed_container(node: ast.AST) -> ast.expr | None:
    """The container that a node changes: the one before ``[…] =`` or ``.append``; else None."""
    if isinstance(node, ast.Subscript):
        return None if isinstance(node.ctx, ast.Load) else node.value
    return node.value if isinstance(node, ast.Attribute) and node.attr in CHANGING else None
