"""Ranks that code tells by counting: ``x.view(*x.shape[:-1], h, d).permute(0, 2, 1, 3)``.

The code does not say how many dims `x` has, but counts those of the view. A permutation has an
index for each. An exchange of two neighbours has the one that the view makes behind the sizes of
`x` for its last: what is moved is what was split off. Source: docs/evidence.md.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.trees import nodes
from namecheck.interpreter.evaluation.size_readings import part_of

_VIEWS: Final = frozenset({"view", "reshape"})
_EXCHANGES: Final = frozenset({"transpose", "swapaxes", "swapdims"})


@dataclass(frozen=True, slots=True)
class _Split:
    """A shape that is the sizes of a tensor but for the last one, and `count` others."""

    part: ast.expr
    count: int


@lru_cache(maxsize=1024)
def counted(definition: ast.AST) -> Mapping[ast.expr, int]:
    """The rank of the tensor for each ``x.shape[:-1]`` in a function whose view is counted."""
    return _Definition(definition).ranks()


class _Definition:
    """What a function assigns, and what it does with the results of its calls."""

    def __init__(self, definition: ast.AST) -> None:
        self._calls: list[ast.Call] = []
        self._assigned: dict[str, list[ast.expr]] = {}
        self._loads: dict[str, list[ast.Name]] = {}
        # The call of a method, by the expression that it is called of.
        self._methods: dict[ast.expr, ast.Call] = {}
        self._targets: dict[ast.expr, ast.Name] = {}
        for node in nodes(definition):
            self._add(node)

    def ranks(self) -> Mapping[ast.expr, int]:
        found: dict[ast.expr, set[int]] = {}
        for call_node in self._calls:
            split, moving = self._split(call_node), self._moving(call_node)
            rank = None if split is None or moving is None else _rank(split, moving)
            if split is not None and rank is not None:
                found.setdefault(split.part, set()).add(rank)
        return {part: min(several) for part, several in found.items() if len(several) == 1}

    def _add(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            self._methods[node.func.value] = node
            if node.func.attr in _VIEWS:
                self._calls.append(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._loads.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            self._assigned.setdefault(node.targets[0].id, []).append(node.value)
            self._targets[node.value] = node.targets[0]

    def _split(self, call_node: ast.Call) -> _Split | None:
        """The shape of a view: ``*x.shape[:-1], h, d``, also kept in a variable."""
        if call_node.keywords:
            return None
        if len(call_node.args) != 1:
            return self._of_sizes(call_node.args)
        argument = call_node.args[0]
        if isinstance(argument, ast.Starred):
            argument = argument.value
        shape = self._value(argument)
        if isinstance(shape, ast.Tuple):
            return self._of_sizes(shape.elts)
        if isinstance(shape, ast.BinOp) and isinstance(shape.op, ast.Add):
            part, rest = self._value(shape.left), shape.right
            if isinstance(rest, (ast.Tuple, ast.List)) and _is_all_but_last(part):
                return None if any(map(_is_star, rest.elts)) else _Split(part, len(rest.elts))
        return None

    def _of_sizes(self, size_nodes: list[ast.expr]) -> _Split | None:
        if not size_nodes or any(map(_is_star, size_nodes[1:])) or not _is_star(size_nodes[0]):
            return None
        assert isinstance(size_nodes[0], ast.Starred)
        part = self._value(size_nodes[0].value)
        return _Split(part, len(size_nodes) - 1) if _is_all_but_last(part) else None

    def _value(self, expression: ast.expr) -> ast.expr:
        """The value of a variable that is assigned once."""
        if not isinstance(expression, ast.Name):
            return expression
        values = self._assigned.get(expression.id, [])
        return values[0] if len(values) == 1 else expression

    def _moving(self, call_node: ast.Call) -> ast.Call | None:
        """The call that moves the dims of a result: at once, or as the variable is used next."""
        if call_node in self._methods:
            return self._methods[call_node]
        variable = self._targets.get(call_node)
        if variable is None:
            return None
        loads = self._loads.get(variable.id, [])
        later = [name for name in loads if name.lineno > call_node.lineno]
        first = min(later, key=lambda name: (name.lineno, name.col_offset), default=None)
        return None if first is None else self._methods.get(first)


def _rank(split: _Split, moving: ast.Call) -> int | None:
    assert isinstance(moving.func, ast.Attribute)
    indices, is_exchange = _indices(moving), moving.func.attr in _EXCHANGES
    if moving.func.attr == "permute" and indices and sorted(indices) == [*range(len(indices))]:
        rank = len(indices) - split.count + 1
        return rank if rank > 1 else None
    if is_exchange and split.count == 2 and len(indices) == 2 and not moving.keywords:
        first, last = sorted(indices)
        return last + 1 if first + 1 == last and first > 0 else None
    return None


def _indices(call_node: ast.Call) -> list[int]:
    """The literal indices that are passed; empty where one is none."""
    nodes_passed = call_node.args
    if len(nodes_passed) == 1 and isinstance(nodes_passed[0], (ast.Tuple, ast.List)):
        nodes_passed = nodes_passed[0].elts
    values = [item.value if isinstance(item, ast.Constant) else None for item in nodes_passed]
    indices = [value for value in values if type(value) is int]
    return indices if len(indices) == len(nodes_passed) else []


def _is_all_but_last(expression: ast.expr) -> bool:
    part = part_of(expression)
    return part is not None and (part.first, part.end) == (0, -1) and not part.is_single


def _is_star(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Starred)
