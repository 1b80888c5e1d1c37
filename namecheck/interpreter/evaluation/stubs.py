"""Declarations of a function that stand elsewhere: its overloads, and the method it overrides.

Where the body of the function leaves its result unknown, they say what a call returns.
"""

from __future__ import annotations

import ast

from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain import joins, scopes
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    Const,
    FunctionValue,
    Opaque,
    TensorValue,
    Value,
    has_failed,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

_TYPES = frozenset({"int", "float", "str", "bool", "None", "bytes"})


def result(interpreter: Interpreter, function: FunctionValue, value: Value, call: Call) -> Value:
    """The result of a call, as another declaration of the function says where it is unknown."""
    if function.cls is None and not isinstance(function.node, ast.FunctionDef):
        return value
    if not _is_vague(value, call.store):
        return value
    stub = _overload(interpreter, function, call) or _overridden(interpreter, function, call.store)
    if stub is None:
        return value
    # The body has been run: the stub only says what it returns.
    return interpreter.call_function(stub, replace(call, store=call.store.fork()))


def _is_vague(value: Value, store: Store) -> bool:
    if isinstance(value, TensorValue):
        return joins.held(value, store).tensor.dims.open
    return isinstance(value, Opaque) and value.kind is None and not has_failed(value)


def _overridden(
    interpreter: Interpreter, function: FunctionValue, store: Store
) -> FunctionValue | None:
    """The abstract method that a method implements, if that declares its result."""
    for base in () if function.cls is None else function.cls.linear[1:]:
        stub = store.get((base.address, function.name)) if isinstance(base, ClassValue) else None
        if isinstance(stub, FunctionValue):
            declares = scopes.is_stub(stub.node) and interpreter.declarations.declares_result(stub)
            return stub if declares else None
    return None


def _overload(
    interpreter: Interpreter, function: FunctionValue, call: Call
) -> FunctionValue | None:
    """The only overload that the arguments of a call fit."""
    if call.arguments.open:
        return None
    overloads = interpreter.declarations.overloads(function)
    fitting = [overload for overload in overloads if _fits(overload, call)]
    if len(fitting) != 1:
        return None
    stub = replace(function, node=fitting[0], defaults=_defaults(fitting[0]), keyword_defaults=())
    return stub if interpreter.declarations.declares_result(stub) else None


def _defaults(overload: ast.FunctionDef) -> tuple[Value, ...]:
    """The defaults of an overload: constants, or `...` for some value."""
    return tuple(
        Const(default.value if isinstance(default, ast.Constant) else ...)
        for default in overload.args.defaults
    )


def _fits(overload: ast.FunctionDef, call: Call) -> bool:
    """Whether arguments may be passed to an overload, by their number, names and plain types."""
    spec = overload.args
    positional = [*spec.posonlyargs, *spec.args]
    if len(call.args) > len(positional) and spec.vararg is None:
        return False
    arguments = dict(zip((argument.arg for argument in positional), call.args, strict=False))
    arguments.update(call.kwargs)
    parameters = {argument.arg: argument for argument in scopes.parameters(spec)}
    needed = positional[: len(positional) - len(spec.defaults)]
    if any(argument.arg not in arguments for argument in needed):
        return False
    if any(name not in parameters for name in arguments) and spec.kwarg is None:
        return False
    return all(
        _may_be(value, parameters[name].annotation)
        for name, value in arguments.items()
        if name in parameters
    )


def _may_be(value: Value, annotation: ast.expr | None) -> bool:
    """Whether a value may be of a declared type; only plain types rule anything out."""
    if isinstance(annotation, ast.BinOp):
        return _may_be(value, annotation.left) or _may_be(value, annotation.right)
    if isinstance(annotation, ast.Constant):
        name: str | None = str(annotation.value)
    else:
        name = annotation.id if isinstance(annotation, ast.Name) else None
    if isinstance(value, Const):
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith(
            "Literal"
        ):
            return any(
                isinstance(option, ast.Constant) and option.value == value.value
                for option in ast.walk(annotation.slice)
            )
        if name in _TYPES:
            return name == ("None" if value.value is None else type(value.value).__name__)
        return not (isinstance(annotation, ast.Subscript) and "Tensor" in ast.unparse(annotation))
    return not (isinstance(value, TensorValue) and name in _TYPES)
