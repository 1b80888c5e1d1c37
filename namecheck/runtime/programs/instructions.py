"""Which expression of a file the running instruction of a frame stands for.

The positions of instructions are those of the expressions that they were made from, with one
exception: where a method call or an attribute spreads over several lines, CPython lets the
instruction begin at the attribute's name (``update_start_location_to_match_attr`` in its
compiler, the same in 3.11, 3.12 and 3.13).
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

# Where an operator can run; an augmented assignment is a statement, and has an operator.
Expression: TypeAlias = (
    ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript | ast.Attribute | ast.AugAssign
)

_MISSING: Final = object()
_ITEMS: Final = frozenset({"__getitem__", "__setitem__", "__delitem__"})
_COMPARED: Final = frozenset(f"__{word}__" for word in COMPARISONS.values())


class Instructions:
    """The expressions of some files, found by the instructions that run them."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._indices: dict[str, dict[Position, Expression]] = {}
        self._known: dict[tuple[int, int], tuple[CodeType, Expression | None]] = {}

    def running(self, frame: FrameType) -> Expression | None:
        """The expression that a frame is running; None in other files, and for other code."""
        return self.at(frame.f_code, frame.f_lasti)

    def at(self, code: CodeType, offset: int) -> Expression | None:
        """The expression of the instruction at an offset."""
        key = id(code), offset
        known = self._known.get(key)
        if known is None:
            # The code object is kept, so that no other one gets its id.
            known = self._known[key] = code, self._find(code, offset)
        return known[1]

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
    """Where the instruction at an offset stands; None where the code object does not tell."""
    line, end_line, column, end_column = next(
        islice(code.co_positions(), max(offset, 0) // 2, None), (None,) * 4
    )
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return Position(line, column, end_line, end_column)


def _index(source: Source) -> dict[Position, Expression]:
    index: dict[Position, Expression] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, Expression):
            index[position(node)] = node
            if moved := _from_the_name(node):
                index[moved] = node
    return index


def _from_the_name(node: Expression) -> Position | None:
    """The position of what spreads over lines, from the name of its attribute on."""
    attribute = node.func if isinstance(node, ast.Call) else node
    if not isinstance(attribute, ast.Attribute) or node.lineno == attribute.end_lineno:
        return None
    start, end = position(attribute), position(node)
    return Position(
        start.end_line, start.end_column - len(attribute.attr), end.end_line, end.end_column
    )


def is_value_of(node: Expression, attribute: str, function: Any, frame: FrameType) -> bool:
    """Whether what a callable of torch gives, called in a frame, is the value of an expression.

    It is not where code that is not Python's stands between the two, as in ``sum(tensors)``,
    ``sorted(tensors)`` or ``list(map(torch.relu, tensors))``.
    """
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name == attribute
        case ast.Call(func=ast.Name(id=name)):
            return _is_called(_variable(name, frame), name, attribute, function)
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


def is_call_of(node: Expression, module: torch.nn.Module, frame: FrameType) -> bool:
    """Whether an expression calls this module, as far as can be told from its text."""
    return isinstance(node, ast.Call) and _named(node.func, frame) in (_MISSING, module)


def _binary(op: ast.operator) -> tuple[str, str]:
    word = BINARY[type(op).__name__]
    return f"__{word}__", f"__r{word}__"


def _is_called(found: Any, name: str, attribute: str, function: Any) -> bool:
    if isinstance(found, functools.partial):
        found = found.func
    if getattr(found, "__func__", found) is function:
        return True
    return found is getattr(builtins, name, None) and attribute == f"__{name}__"


def _named(node: ast.expr, frame: FrameType) -> Any:
    """What a dotted name stands for in a frame, found without running code of the program."""
    if isinstance(node, ast.Name):
        return _variable(node.id, frame)
    if isinstance(node, ast.Attribute):
        owner = _named(node.value, frame)
        if isinstance(owner, (torch.nn.Module, ModuleType)):
            return vars(owner).get(node.attr, _child(owner, node.attr))
    return _MISSING


def _child(owner: Any, name: str) -> Any:
    children: Mapping[str, Any] = vars(owner).get("_modules", {})
    return children.get(name, _MISSING)


def _variable(name: str, frame: FrameType) -> Any:
    for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in space:
            return space[name]
    return _MISSING
