"""Finds out whether a program would catch an error: ``try``, ``raises`` and ``suppress``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, TypeAlias

from namecheck.core.syntax import Position, Source, position
from namecheck.runtime.programs.instructions import position_of

# Contexts that suppress errors of the types in their arguments.
_EXPECTING: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})

_Scope: TypeAlias = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_Try: TypeAlias = ast.Try | ast.TryStar
_With: TypeAlias = ast.With | ast.AsyncWith


@dataclass(frozen=True, slots=True)
class _Guard:
    """A block whose errors are caught: its position, and the types, None for every type."""

    scope: _Scope
    start: Position
    end: Position
    types: tuple[ast.expr, ...] | None


class ExceptionHandlers:
    """The blocks of some files whose errors the program catches."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._guards: dict[str, list[_Guard]] = {}

    def catches(self, frame: FrameType | None, error_type: type[BaseException]) -> bool:
        """Whether an error of this type, raised in a frame, is caught there or in a caller."""
        while frame is not None:
            if frame.f_code.co_filename in self._sources and self._catches_in(frame, error_type):
                return True
            frame = frame.f_back
        return False

    def _catches_in(self, frame: FrameType, error_type: type[BaseException]) -> bool:
        filename = frame.f_code.co_filename
        guards = self._guards.get(filename)
        if guards is None:
            tree = self._sources[filename].tree
            guards = self._guards[filename] = list(_guards(tree, tree))
        if not guards:
            return False
        at = position_of(frame.f_code, frame.f_lasti)
        if at is None:
            return False
        name = frame.f_code.co_name
        return any(
            guard.start[:2] <= at[:2] and at[2:] <= guard.end[2:]
            for guard in guards
            if _runs(name, guard.scope) and _catches(guard.types, error_type, frame)
        )


def _runs(name: str, scope: _Scope) -> bool:
    """Whether a code object has the name of a scope, or of a comprehension."""
    if name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
        return True
    if isinstance(scope, ast.Module):
        return name == "<module>"
    return name == ("<lambda>" if isinstance(scope, ast.Lambda) else scope.name)


def _catches(
    types: tuple[ast.expr, ...] | None, error_type: type[BaseException], frame: FrameType
) -> bool:
    return types is None or any(_is(error_type, _evaluated(node, frame)) for node in types)


def _is(error_type: type[BaseException], caught: Any) -> bool:
    if isinstance(caught, tuple):
        return any(_is(error_type, each) for each in caught)
    return isinstance(caught, type) and issubclass(error_type, caught)


def _evaluated(expression: ast.expr, frame: FrameType) -> Any:
    """The value of a dotted name, or of a tuple of these, in a frame; None for other nodes."""
    allowed = (ast.Name, ast.Attribute, ast.Tuple, ast.expr_context)
    if not all(isinstance(inner, allowed) for inner in ast.walk(expression)):
        return None
    try:
        return eval(
            compile(ast.Expression(expression), "<handler>", "eval"),
            frame.f_globals,
            frame.f_locals,
        )
    except Exception:
        return None


def _guards(node: ast.AST, scope: _Scope) -> Iterator[_Guard]:
    if isinstance(node, _Scope):
        scope = node
    if isinstance(node, _Try):
        for handler in node.handlers:
            yield _guard(scope, node.body, None if handler.type is None else (handler.type,))
    elif isinstance(node, _With):
        for item in node.items:
            if types := _expected(item.context_expr):
                yield _guard(scope, node.body, types)
    for child in ast.iter_child_nodes(node):
        yield from _guards(child, scope)


def _guard(scope: _Scope, body: list[ast.stmt], types: tuple[ast.expr, ...] | None) -> _Guard:
    return _Guard(scope, position(body[0]), position(body[-1]), types)


def _expected(context_expr: ast.expr) -> tuple[ast.expr, ...]:
    match context_expr:
        case (
            ast.Call(func=ast.Attribute(attr=name), args=arguments)
            | ast.Call(func=ast.Name(id=name), args=arguments)
        ):
            return tuple(arguments) if name in _EXPECTING else ()
    return ()
