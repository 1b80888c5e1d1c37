"""inspect: signatures of functions; what looks at a function does not call it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from namecheck.interpreter.domain.values import (
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    External,
    FunctionValue,
    Instance,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import family, model

# The default of a parameter that has none.
_EMPTY: Final = External("inspect.Parameter.empty")


@family("inspect", open=True)
def looked_at(interpreter: Interpreter, name: str, call: Call) -> Value:
    """Any other function of the module: it looks at its arguments."""
    return interpreter.fresh(name)


@model("inspect.signature", "inspect.Signature.from_callable")
def signature(interpreter: Interpreter, call: Call) -> Value:
    """``inspect.signature(f).parameters``: the parameters by their names, with their defaults.

    That of a function which wraps another one is that one's.
    """
    callee = call.argument(0, "obj")
    skipped = 0
    if isinstance(callee, BoundMethod):
        callee, skipped = callee.function, 1
    if not isinstance(callee, FunctionValue) or _wraps(interpreter, callee, call):
        return interpreter.fresh("signature")
    entries = []
    for name, default in [*_parameters(callee)][skipped:]:
        described = {"name": Const(name), "default": default}
        parameter = _object(interpreter, "inspect.Parameter", described, call)
        entries.append((Const(name), parameter))
    parameters = DictValue(interpreter.new_address(), Entries(tuple(entries)), ordered=True)
    return _object(interpreter, "inspect.Signature", {"parameters": parameters}, call)


def _wraps(interpreter: Interpreter, function: FunctionValue, call: Call) -> bool:
    """Whether a function has the signature of another one, or one of its own."""
    words = ("__wrapped__", "__signature__")
    return any(call.store.get((function, word)) is not None for word in words)


def _object(
    interpreter: Interpreter, path: str, attributes: Mapping[str, Value], call: Call
) -> Value:
    """An object of a class of the module, of which some attributes are known."""
    made = Instance(
        interpreter.new_address(), ClassValue(path, path.rpartition(".")[2], (External(path),))
    )
    for name, value in attributes.items():
        call.store.set((made.address, name), value)
    return made


def _parameters(function: FunctionValue) -> Iterator[tuple[str, Value]]:
    """The names and the defaults of the parameters of a function, in their order."""
    spec: ast.arguments = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    required = len(positional) - len(function.defaults)
    yield from zip(
        (parameter.arg for parameter in positional),
        [_EMPTY] * required + list(function.defaults),
        strict=True,
    )
    if spec.vararg is not None:
        yield spec.vararg.arg, _EMPTY
    defaults = dict(function.keyword_defaults)
    for parameter in spec.kwonlyargs:
        yield parameter.arg, defaults.get(parameter.arg, _EMPTY)
    if spec.kwarg is not None:
        yield spec.kwarg.arg, _EMPTY
