"""The errors that a block of the program expects: ``except RuntimeError``, ``pytest.raises(…)``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import ClassValue, External, TupleValue, Value
from namecheck.interpreter.evaluation.frames import Frame, Guard
from namecheck.interpreter.evaluation.interpreter import Interpreter

_ALL: Final = frozenset({"BaseException"})
_BROAD: Final = frozenset({"Exception", "BaseException"})
_EXPECTING: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})


ANY: Final = Guard(_ALL)


def of_handler(
    interpreter: Interpreter, handler: ast.ExceptHandler, store: Store, frame: Frame
) -> Guard:
    """The guard of an exception handler."""
    types = _ALL
    if handler.type is not None:
        types = _names(interpreter.evaluate(handler.type, store, frame))
    return Guard(types, not types & _BROAD, _always_raises(handler.body))


def _always_raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a block raises an error on each path; a handler that may go on expects its error."""
    return any(map(_is_raising, body))


def _is_raising(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise():
            return True
        case ast.If(_, body, orelse):
            return _always_raises(body) and _always_raises(orelse)
        case ast.With(_, body) | ast.AsyncWith(_, body):
            return _always_raises(body)
        case ast.Try(body, handlers, orelse, finalbody):
            blocks = [[*body, *orelse], *(handler.body for handler in handlers)]
            return _always_raises(finalbody) or all(map(_always_raises, blocks))
    return False


def of_context(
    interpreter: Interpreter, expression: ast.expr, store: Store, frame: Frame
) -> Guard | None:
    """The guard of ``pytest.raises(…)``, ``assertRaises(…)``, ``suppress(…)``; None for others."""
    if not isinstance(expression, ast.Call) or _last(expression.func) not in _EXPECTING:
        return None
    demanded = _last(expression.func) != "suppress"
    error_nodes = expression.args[:1] if demanded else expression.args
    error_nodes = error_nodes or [
        word.value for word in expression.keywords if word.arg == "expected_exception"
    ]
    types = [_names(interpreter.evaluate(arg, store, frame)) for arg in error_nodes]
    return Guard(frozenset().union(*types) if types else _ALL, demanded=demanded)


def error_of(
    interpreter: Interpreter, expression: ast.expr | None, store: Store, frame: Frame
) -> str:
    """The built-in type of the error in a ``raise``, if it is one."""
    kind = expression.func if isinstance(expression, ast.Call) else expression
    value = None if kind is None else interpreter.evaluate(kind, store, frame)
    if isinstance(value, External) and value.path.startswith("builtins."):
        return value.path.removeprefix("builtins.")
    return ""


def _names(value: Value) -> frozenset[str]:
    """The names of error types; all errors where they are unknown.

    A class of the program at most derives from an error that torch raises, so it catches none of
    them.
    """
    if isinstance(value, TupleValue):
        return frozenset().union(*map(_names, value.items))
    if isinstance(value, External):
        return frozenset({value.path.rpartition(".")[2]})
    return frozenset() if isinstance(value, ClassValue) else _ALL


def _last(node: Node) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
