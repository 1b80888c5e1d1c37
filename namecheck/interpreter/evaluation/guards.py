"""The errors that a block of the program expects: ``except RuntimeError``, ``pytest.raises(…)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import pairwise
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.trees import is_name, last_word, nodes
from namecheck.interpreter.domain.scopes import parameters, statements
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    External,
    FunctionValue,
    Partial,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Frame, Guard
from namecheck.interpreter.evaluation.interpreter import Interpreter

_ALL: Final = frozenset({"BaseException"})
_BROAD: Final = frozenset({"Exception", "BaseException"})
_EXCEPTIONS: Final = ("expected_exception", "exception")
# Marks of tests that fail, or that are not run.
_MARKS: Final = frozenset({"xfail", "expectedFailure", "skip"})
_EXPECTING: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})


ANY: Final = Guard(_ALL)


def of_handlers(
    interpreter: Interpreter, try_node: ast.Try, store: Store, frame: Frame
) -> list[Guard]:
    """The guards of the exception handlers of a ``try``."""
    demanded = _demands_error(try_node, frame.environment.scope)
    guards: list[Guard] = []
    for handler in try_node.handlers:
        is_foreseen = demanded or _tries_again(try_node, handler)
        guard = _of_handler(
            interpreter, handler, store, frame, demanded=demanded, is_foreseen=is_foreseen
        )
        guards.append(replace(guard, tried=_is_tried(try_node, handler, guard)))
    return guards


def _is_tried(try_node: ast.Try, handler: ast.ExceptHandler, guard: Guard) -> bool:
    """Whether a statement tries if its operands fit: ``try: x @ w``, then ``x @ w.T``."""
    if len(try_node.body) > 1 or "RuntimeError" not in guard.types or guard.again:
        return False
    tried = try_node.body[0]
    calls = (part.func for part in nodes(tried) if isinstance(part, ast.Call))
    if not _FITTING.isdisjoint(map(last_word, calls)):
        return True
    unturned = ast.dump(tried)
    return any(
        ast.dump(_Unturned().visit(deepcopy(other))) == unturned != ast.dump(other)
        for other in handler.body
    )


def _tries_again(try_node: ast.Try, handler: ast.ExceptHandler) -> bool:
    """Whether a handler calls what has failed with its argument in another form: ``x[None]``."""
    tried = {ast.dump(part.func): part.args for part in _calls(try_node.body)}
    return any(
        _are_changed(tried.get(ast.dump(part.func), []), part.args) for part in _calls(handler.body)
    )


def _calls(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    return (part for each in body for part in nodes(each) if isinstance(part, ast.Call))


def _are_changed(own_args: Sequence[ast.expr], other_args: Sequence[ast.expr]) -> bool:
    """Whether an argument, a variable, is a part of the same argument of another call."""
    return any(
        isinstance(one, ast.Name)
        and not isinstance(other, ast.Name)
        and any(is_name(part, one.id) for part in nodes(other))
        for one, other in zip(own_args, other_args, strict=False)
    )


# Calls that ask whether dims fit.
_FITTING: Final = frozenset({"broadcast_shapes", "broadcast_tensors", "broadcast_to"})


class _Unturned(ast.NodeTransformer):
    """Takes the turned operands of a statement as they were: ``w.T`` as ``w``."""

    def visit_Attribute(self, attribute_node: ast.Attribute) -> ast.AST:
        self.generic_visit(attribute_node)
        return attribute_node.value if attribute_node.attr in ("T", "mT") else attribute_node

    def visit_Call(self, call_node: ast.Call) -> ast.AST:
        self.generic_visit(call_node)
        match call_node.func:
            case ast.Attribute(operand, "t" | "transpose" | "permute" | "swapaxes"):
                return operand
        return call_node


def _of_handler(
    interpreter: Interpreter,
    handler: ast.ExceptHandler,
    store: Store,
    frame: Frame,
    *,
    demanded: bool,
    is_foreseen: bool,
) -> Guard:
    types = _ALL
    if handler.type is not None:
        types = _names(interpreter.evaluate(handler.type, store, frame))
    deep = is_foreseen or not types & _BROAD
    return Guard(types, deep, _always_raises(handler.body), demanded)


def _demands_error(try_node: ast.Try, scope_node: ast.AST) -> bool:
    """Whether a ``try`` fails where its block raises no error, in a test of that error.

    It says so in its ``else``, at the end of its block, or behind itself where a handler leaves.
    """
    if not try_node.handlers or any(isinstance(part, ast.Return) for part in try_node.body):
        return False
    if _always_raises(try_node.orelse) or _is_failure(try_node.body[-1]):
        return True
    return try_node in _before_failures(scope_node)


@lru_cache(maxsize=256)
def _before_failures(scope_node: ast.AST) -> frozenset[ast.AST]:
    """Each ``try`` of a scope behind which an error is raised, and whose handlers leave."""
    if isinstance(scope_node, ast.Lambda):
        return frozenset()
    return frozenset(
        one
        for block in _blocks(scope_node)
        for one, after in pairwise(block)
        if isinstance(one, ast.Try) and _is_raising(after) and all(map(_leaves, one.handlers))
    )


def _blocks(scope_node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    yield getattr(scope_node, "body", ())
    for statement in statements(scope_node):
        for name in ("body", "orelse", "finalbody"):
            yield getattr(statement, name, ())


def _leaves(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], (ast.Return, ast.Continue, ast.Break))


def _is_failure(statement: ast.stmt) -> bool:
    """Whether a test fails where this runs: ``pytest.fail()``, ``assert False``."""
    match statement:
        case ast.Expr(ast.Call(function)):
            return last_word(function) == "fail"
        case ast.Assert(ast.Constant(value)):
            return not value
        case ast.Raise(ast.Call(kind)) | ast.Raise(kind):
            return kind is not None and last_word(kind) == "AssertionError"
    return False


def _always_raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a block raises an error on each path; a handler that may go on expects its error."""
    return any(map(_is_raising, body))


def _is_raising(statement: ast.stmt) -> bool:
    if _is_failure(statement):
        return True
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
    interpreter: Interpreter, expression: ast.expr, value: Value, store: Store, frame: Frame
) -> Guard | None:
    """The guard of ``pytest.raises(…)``, ``assertRaises(…)``, ``suppress(…)``; None for others."""
    if isinstance(value, Partial) and isinstance(value.function, External):
        word = value.function.path.rpartition(".")[2]
        if word in _EXPECTING:
            error_types = value.args or tuple(v for n, v in value.kwargs if n in _EXCEPTIONS)
            types = [_names(each) for each in error_types]
            return Guard(_of_all(types), demanded=word != "suppress")
    if _is_parameter_of_test(expression, frame):
        return Guard(_ALL, demanded=True)
    if not isinstance(expression, ast.Call) or last_word(expression.func) not in _EXPECTING:
        return None
    demanded = last_word(expression.func) != "suppress"
    error_nodes = expression.args[:1] if demanded else expression.args
    error_nodes = error_nodes or [
        word.value for word in expression.keywords if word.arg in _EXCEPTIONS
    ]
    types = [_names(interpreter.evaluate(arg, store, frame)) for arg in error_nodes]
    return Guard(_of_all(types), demanded=demanded)


def _of_all(types: Sequence[frozenset[str]]) -> frozenset[str]:
    """The errors of several types; all errors where none is given."""
    return frozenset[str]().union(*types) if types else _ALL


def _is_parameter_of_test(expression: ast.expr, frame: Frame) -> bool:
    """Whether a context is a parameter of a test, for which some calls may expect an error."""
    scope = frame.environment.scope
    if not isinstance(expression, ast.Name) or not isinstance(scope, ast.FunctionDef):
        return False
    is_parameter = any(each.arg == expression.id for each in parameters(scope.args))
    called = [each.func for each in scope.decorator_list if isinstance(each, ast.Call)]
    return is_parameter and "parametrize" in map(last_word, called)


def entered(with_node: ast.With | ast.AsyncWith) -> list[ast.withitem]:
    """The contexts of errors that the block of a stack enters: they are left with the stack."""
    if not any("ExitStack" in ast.unparse(item.context_expr) for item in with_node.items):
        return []
    calls = [s.value for s in with_node.body if isinstance(s, ast.Expr)]
    return [
        ast.withitem(context_expr=call.args[0], optional_vars=None)
        for call in calls
        if isinstance(call, ast.Call) and last_word(call.func) == "enter_context" and call.args
        if isinstance(call.args[0], ast.Call) and last_word(call.args[0].func) in _EXPECTING
    ]


def of_test(interpreter: Interpreter, function: FunctionValue, store: Store) -> Guard | None:
    """The guard of a test that is marked to fail, or to be skipped."""
    if not function.name.startswith("test"):
        return None
    environment = function.environment
    frame = Frame(environment)
    module = interpreter.context.source_of(environment).tree
    for mark in (*_marks_of(function.node), *_marks_of(environment.scope), *_marks_of(module)):
        called = mark.func if isinstance(mark, ast.Call) else mark
        if last_word(called) not in _MARKS:
            continue
        with interpreter.findings.silenced():
            kind = interpreter.evaluate(called, store, frame)
            if isinstance(kind, External) and kind.path.startswith(("pytest.mark.", "unittest.")):
                words = mark.keywords if isinstance(mark, ast.Call) else []
                error_nodes = [word.value for word in words if word.arg == "raises"]
                types = [_names(interpreter.evaluate(n, store, frame)) for n in error_nodes]
                return Guard(_of_all(types), demanded=True)
    return None


@lru_cache(maxsize=256)
def _marks_of(marked_node: ast.AST) -> tuple[ast.expr, ...]:
    """The decorators of a definition, and the ``pytestmark`` of a class or module."""
    marks = list[ast.expr](getattr(marked_node, "decorator_list", ()))
    if isinstance(marked_node, (ast.ClassDef, ast.Module)):
        for statement in marked_node.body:
            if isinstance(statement, ast.Assign) and is_name(statement.targets[0], "pytestmark"):
                listed = statement.value
                marks += listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else [listed]
    return tuple(marks)


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
