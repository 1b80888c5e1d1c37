"""Which functions can matter to names at all.

Most functions of a file neither name a dim nor call one that does; run on arguments without
names they can say nothing. They are found by the words they use: a definition is relevant if it
uses the vocabulary of naming, or the name of something relevant, or if what uses the vocabulary
calls it (it may make the names).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

VOCABULARY: Final = frozenset(
    {
        "names",
        "refine_names",
        "rename",
        "rename_",
        "align_to",
        "align_as",
        "align_tensors",
        "unflatten",
        "reveal_names",
    }
)


def relevant_definitions(tree: ast.Module) -> frozenset[ast.AST]:
    """The functions, lambdas and classes of a file that can matter to names."""
    units = [_Unit(node, _words(node), _bound(node)) for node in ast.walk(tree) if _is_unit(node)]
    naming = [unit for unit in units if unit.words & VOCABULARY]
    users = _spread(units, VOCABULARY, lambda unit: unit.words, lambda unit: unit.binds)
    wanted = frozenset().union(*(unit.words for unit in naming))
    suppliers = _spread(units, wanted, lambda unit: unit.binds, lambda unit: unit.words)
    return frozenset(unit.node for unit in (*users, *suppliers))


class _Unit(NamedTuple):
    """A definition or an assignment: the words it uses, and those that it binds."""

    node: ast.AST
    words: frozenset[str]
    binds: frozenset[str]


def _spread(
    units: list[_Unit],
    start: frozenset[str],
    asks: Callable[[_Unit], frozenset[str]],
    gives: Callable[[_Unit], frozenset[str]],
) -> list[_Unit]:
    """The units reached from some words: a unit that asks for one of them gives its own."""
    known = set(start)
    reached: list[_Unit] = []
    rest = units
    while True:
        found = [unit for unit in rest if asks(unit) & known]
        if not found:
            return reached
        reached += found
        known.update(*(gives(unit) for unit in found))
        met = {id(unit) for unit in found}
        rest = [unit for unit in rest if id(unit) not in met]


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BINDINGS: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Expr)


def _is_unit(node: ast.AST) -> bool:
    return isinstance(node, (*_DEFINITIONS, ast.Lambda, *_BINDINGS))


def _bound(node: ast.AST) -> frozenset[str]:
    if isinstance(node, _DEFINITIONS):
        return frozenset({node.name})
    return frozenset() if isinstance(node, ast.Lambda) else frozenset(_targets(node))


def _words(node: ast.AST) -> frozenset[str]:
    return frozenset(_each_word(node))


def _each_word(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.keyword) and inner.arg:
            yield inner.arg
        elif isinstance(inner, ast.Constant) and inner.value == "names":
            yield "names"


def _targets(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Store):
            yield inner.id if isinstance(inner, ast.Name) else inner.attr
