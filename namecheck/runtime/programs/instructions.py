"""Maps the running instruction of a frame to the expression of its file.

An instruction has the position of the expression that it was compiled from, with one exception:
for a method call or an attribute over several lines, CPython lets the position begin at the name
of the attribute (``update_start_location_to_match_attr`` in its compiler, the same in 3.11, 3.12
and 3.13).
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Mapping
from itertools import islice
from types import CodeType, FrameType, ModuleType
from typing import Any, Final, TypeAlias

import torch

from namecheck.core.syntax import Position, Source, position
from namecheck.runtime.patching.targets import BINARY, COMPARISONS, UNARY

# The nodes that can run an operator; an augmented assignment is a statement.
Expression: TypeAlias = (
    ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript | ast.Attribute | ast.AugAssign
)

_MISSING: Final = object()
_ITEMS: Final = frozenset({"__getitem__", "__setitem__", "__delitem__"})
_COMPARED: Final = frozenset(f"__{word}__" for word in COMPARISONS.values())


class Instructions:
    """Looks expressions of some files up by their instructions."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._indices: dict[str, dict[Position, Expression]] = {}
        self._memo: dict[tuple[int, int], tuple[CodeType, Expression | None]] = {}

    def running(self, frame: FrameType) -> Expression | None:
        """The expression that a frame is running; None in other files, and for other nodes."""
        return self.at(frame.f_code, frame.f_lasti)

    def at(self, code: CodeType, offset: int) -> Expression | None:
        """The expression of the instruction at an offset."""
        key = id(code), offset
        entry = self._memo.get(key)
        if entry is None:
            # The entry keeps the code object alive, so that no other one gets its id.
            entry = self._memo[key] = code, self._find(code, offset)
        return entry[1]

    def _find(self, code: CodeType, offset: int) -> Expression | None:
        source = self._sources.get(code.co_filename)
        at = position_of(code, offset)
        if source is None or at is None:
            return None
        index = self._indices.get(source.filename)
        if index is None:
            index = self._indices[source.filename] = _index(source)
        return index.get(at)


def position_of(code: CodeType, offset: int) -> Position | None:
    """The position of the instruction at an offset, None if the code object has none."""
    line, end_line, column, end_column = next(
        islice(code.co_positions(), max(offset, 0) // 2, None), (None,) * 4
    )
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return Position(line, column, end_line, end_column)


def _index(source: Source) -> dict[Position, Expression]:
    by_position: dict[Position, Expression] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, Expression):
            by_position[position(node)] = node
            if moved := _position_from_name(node):
                by_position[moved] = node
    return by_position


def _position_from_name(expression: Expression) -> Position | None:
    """The position of an expression over several lines from the name of its attribute on."""
    attribute = expression.func if isinstance(expression, ast.Call) else expression
    if not isinstance(attribute, ast.Attribute) or expression.lineno == attribute.end_lineno:
        return None
    start, end = position(attribute), position(expression)
    return Position(
        start.end_line, start.end_column - len(attribute.attr), end.end_line, end.end_column
    )


def is_value_of(expression: Expression, attribute: str, callee: Any, frame: FrameType) -> bool:
    """Whether the result of a callable of torch, called in a frame, is the value of an expression.

    False if C code is between the two, as in ``sum(tensors)``, ``sorted(tensors)`` or
    ``list(map(torch.relu, tensors))``.
    """
    match expression:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name == attribute
        case ast.Call(func=ast.Name(id=name)):
            return _is_called(_variable(name, frame), name, attribute, callee)
        case ast.BinOp(op=op):
            return attribute in _binary(op)
        case ast.AugAssign(op=op):
            return attribute in _binary(op) or attribute == f"__i{BINARY[type(op).__name__]}__"
        case ast.UnaryOp(op=op):
            return attribute == f"__{UNARY.get(type(op).__name__)}__"
        case ast.Compare(ops=[_]):
            return attribute in _COMPARED
        case ast.Subscript():
            return attribute in _ITEMS
        case ast.Attribute(attr=name):
            return name == attribute
    return False


def is_call_of(expression: Expression, torch_module: torch.nn.Module, frame: FrameType) -> bool:
    """Whether an expression calls this module; True if the called value cannot be looked up."""
    if not isinstance(expression, ast.Call):
        return False
    return _looked_up(expression.func, frame) in (_MISSING, torch_module)


def _binary(op: ast.operator) -> tuple[str, str]:
    word = BINARY[type(op).__name__]
    return f"__{word}__", f"__r{word}__"


def _is_called(value: Any, name: str, attribute: str, callee: Any) -> bool:
    if isinstance(value, functools.partial):
        value = value.func
    if getattr(value, "__func__", value) is callee:
        return True
    return value is getattr(builtins, name, None) and attribute == f"__{name}__"


def _looked_up(expression: ast.expr, frame: FrameType) -> Any:
    """The value of a dotted name in a frame, looked up without running code of the program."""
    if isinstance(expression, ast.Name):
        return _variable(expression.id, frame)
    if isinstance(expression, ast.Attribute):
        owner = _looked_up(expression.value, frame)
        if isinstance(owner, (torch.nn.Module, ModuleType)):
            return vars(owner).get(expression.attr, _child(owner, expression.attr))
    return _MISSING


def _child(owner: Any, name: str) -> Any:
    children: Mapping[str, Any] = vars(owner).get("_modules", {})
    return children.get(name, _MISSING)


def _variable(name: str, frame: FrameType) -> Any:
    for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in space:
            return space[name]
    return _MISSING
