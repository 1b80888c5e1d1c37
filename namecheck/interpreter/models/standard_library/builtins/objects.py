"""Methods of many types: operators, item access, and methods of instances and generators."""

from __future__ import annotations

from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain import class_lookup
from namecheck.interpreter.domain.values import (
    NONE,
    ClassValue,
    Generator,
    Instance,
    ListValue,
    Operand,
    Repeated,
    TensorValue,
    TorchModule,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation import python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import inheritance
from namecheck.interpreter.models.registry import METHODS, method, methods_of
from namecheck.interpreter.models.standard_library.builtins import functions

# The methods by which `of_items` reads and writes items.
ITEM_METHODS: Final = frozenset(
    {"__getitem__", "__setitem__", "__iter__", "__len__", "__contains__"}
)


@method(TensorValue, "as_subclass")
def as_subclass(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``x.as_subclass(Class)``: the class may have operators of its own."""
    cls = call.argument(0, "cls")
    if isinstance(cls, ClassValue):
        dispatch = class_lookup.attribute(cls, "__torch_function__", call.store)
        if dispatch is not None:
            return interpreter.fresh("subclass")
    return interpreter.call_operator("Tensor.as_subclass", [receiver, *call.args], call)


@methods_of(TensorValue)
def of_tensor(interpreter: Interpreter, receiver: Value, name: str, call: Call) -> Value:
    """An operator as a method, or a method in place that no table has: ``x.set_(other)``."""
    if name in python_operators.SPECIAL_METHODS:
        return operator(interpreter, receiver, name, call)
    interpreter.havoc_arguments(call, name)
    interpreter.torch.forget(name, [receiver], call.kwargs, call.store)
    return receiver


def operator(interpreter: Interpreter, receiver: Value, name: str, call: Call) -> Value:
    """``x.__radd__(y)`` is ``y + x``."""
    symbol, reflected = python_operators.SPECIAL_METHODS[name]
    nodes = [call.node, *getattr(call.node, "args", [])]
    operands: list[Operand] = list(zip(nodes, [receiver, *call.args], strict=False))
    if reflected:
        operands.reverse()
    return interpreter.operate(symbol, call.node, operands, call.store, call.frame)


def of_items(interpreter: Interpreter, receiver: Value, name: str, call: Call) -> Value:
    """``super().__getitem__(key)``, ``dict.__setitem__(self, key, value)``."""
    where = (call.node, call.store, call.frame)
    if name == "__getitem__":
        return interpreter.read_item(receiver, call.argument(0), *where)
    if name == "__setitem__":
        interpreter.write_item(receiver, call.argument(0), call.argument(1), *where)
        return NONE
    if name == "__iter__":
        content = interpreter.iterate(receiver, *where)
        if isinstance(content, Repeated):
            return content
        return ListValue(interpreter.new_address(), content, "iterator")
    if name == "__len__":
        arguments = replace(call.arguments, args=[receiver])
        return functions.len_(interpreter, replace(call, arguments=arguments))
    operands: list[Operand] = [(call.node, call.argument(0)), (call.node, receiver)]
    return interpreter.operate("In", call.node, operands, call.store, call.frame)


@methods_of(Instance, TorchModule)
def of_instance(interpreter: Interpreter, receiver: Value, name: str, call: Call) -> Value:
    """A method that an instance or a module has from a library class among its bases."""
    if name == "__init__" and isinstance(receiver, Instance):
        path = inheritance.base(interpreter, class_lookup.mro(receiver.cls))
        if path is not None:
            inheritance.initialise(interpreter, receiver, path, call)
        return NONE
    if name == "__getattr__":
        interpreter.fail("AttributeError")
    if name == "__setattr__":
        attribute, value = call.argument(0, "name"), call.argument(1, "value")
        interpreter.set_attribute(receiver, attribute, value, call.store)
        return NONE
    return METHODS[TorchModule, name](interpreter, receiver, call)


@methods_of(Generator)
def of_generator(interpreter: Interpreter, generator: Generator, name: str, call: Call) -> Value:
    """``__next__`` and ``send`` request the next item, ``close`` ends the generator."""
    if name in ("__next__", "send", "__anext__", "asend"):
        element = interpreter.generators.step(generator, call.node, call.store, call.frame)
        if element is None:
            interpreter.fail("StopIteration")
        return element
    if name == "__iter__":
        return generator
    interpreter.generators.give_away(generator, call.store, call.frame)
    return NONE


@methods_of(Wrapped)
def of_property(interpreter: Interpreter, wrapped: Wrapped, name: str, call: Call) -> Value:
    """``@x.setter``, ``@x.getter``, ``@x.deleter``: the property with another function."""
    if name == "getter":
        return replace(wrapped, function=call.argument(0))
    return replace(wrapped, setter=call.argument(0)) if name == "setter" else wrapped
