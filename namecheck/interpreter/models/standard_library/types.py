"""types: bound methods, and namespaces with given attributes."""

from __future__ import annotations

from collections.abc import Mapping

from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import BoundMethod, ClassValue, Instance, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model


@model("types.MethodType")
def method_type(interpreter: Interpreter, call: Call) -> Value:
    """``types.MethodType(function, receiver)``."""
    return BoundMethod(call.argument(0), call.argument(1))


@model("types.SimpleNamespace")
def simple_namespace(interpreter: Interpreter, call: Call) -> Value:
    """``types.SimpleNamespace(name=value)``."""
    return namespace(interpreter, call.kwargs, call.store)


def namespace(interpreter: Interpreter, attributes: Mapping[str, Value], store: Store) -> Instance:
    """An object with the keyword arguments as attributes."""
    made = Instance(interpreter.new_address(), ClassValue("SimpleNamespace", "SimpleNamespace"))
    for name, value in attributes.items():
        store.set((made.address, name), value)
    return made
