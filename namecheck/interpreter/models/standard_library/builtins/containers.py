"""The built-in container types, as functions and as base classes."""

from __future__ import annotations

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import (
    Const,
    DictValue,
    Entries,
    Instance,
    ListValue,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import comparisons
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import base, model


@model("builtins.list")
def list_(interpreter: Interpreter, call: Call) -> ListValue:
    """``list(items)``."""
    if not call.args:
        return ListValue(interpreter.new_address(), ())
    content = primitives.items(interpreter, call.args[0], call, whole=True)
    return ListValue(interpreter.new_address(), content)


@model("builtins.set", "builtins.frozenset")
def set_(interpreter: Interpreter, call: Call) -> ListValue:
    """``set(items)``, ``frozenset(items)``."""
    if not call.args:
        return ListValue(interpreter.new_address(), (), "set")
    content = primitives.items(interpreter, call.args[0], call, whole=True)
    if not isinstance(content, Repeated):
        content = comparisons.distinct(content, call.store)
    return ListValue(interpreter.new_address(), content, "set")


@model("builtins.tuple")
def tuple_(interpreter: Interpreter, call: Call) -> Value:
    """``tuple(items)``."""
    if not call.args:
        return TupleValue(())
    content = primitives.items(interpreter, call.args[0], call, whole=True)
    return content if isinstance(content, Repeated) else TupleValue(content)


@model("builtins.dict")
def dict_(interpreter: Interpreter, call: Call) -> DictValue:
    """``dict(items, key=value)``."""
    items: dict[Value, Value] = {}
    rest: Value | None = None
    for arg in call.args[:1]:
        source = joins.opened(arg, call.store)
        if isinstance(source, DictValue):
            entries = joins.entries(source, call.store)
            items.update(entries.items)
            rest = entries.rest
            continue
        content = primitives.items(interpreter, source, call, whole=True)
        pairs = () if isinstance(content, Repeated) else content
        if isinstance(content, Repeated) or not all(
            isinstance(pair, TupleValue) and len(pair.items) == 2 for pair in pairs
        ):
            rest = interpreter.fresh("entry")
            continue
        for pair in pairs:
            assert isinstance(pair, TupleValue)
            items[pair.items[0]] = pair.items[1]
    items.update({Const(name): value for name, value in call.kwargs.items()})
    return DictValue(interpreter.new_address(), Entries(tuple(items.items()), rest))


@model("builtins.dict.fromkeys")
def from_keys(interpreter: Interpreter, call: Call) -> Value:
    """``dict.fromkeys(keys, value)``."""
    content = primitives.items(interpreter, call.argument(0), call, whole=True)
    value = call.argument(1)
    if isinstance(content, Repeated):
        return DictValue(interpreter.new_address(), Entries((), value))
    pairs = tuple((key, value) for key in dict.fromkeys(content))
    return DictValue(interpreter.new_address(), Entries(pairs))


@base("builtins.list")
def list_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Layers(list)``."""
    return list_(interpreter, call)


@base("builtins.set")
def set_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Names(set)``."""
    return set_(interpreter, call)


@base("builtins.dict")
def dict_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Config(dict)``."""
    return dict_(interpreter, call)
