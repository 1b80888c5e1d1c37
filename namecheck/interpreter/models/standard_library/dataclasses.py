"""dataclasses: fields, ``replace``, and conversions to dicts and tuples."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from namecheck.core import dataclasses
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    TRUE,
    ClassValue,
    Const,
    DictValue,
    Entries,
    External,
    FieldOptions,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Arguments, Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import decorator, model
from namecheck.interpreter.models.standard_library import types

# The marker of an option without a value.
_MISSING: Final = External("dataclasses.MISSING")

Make: TypeAlias = Callable[[Mapping[str, Value]], Value]
"""Converts the values of the fields of an instance."""


@decorator("dataclasses.dataclass")
def decorated(interpreter: Interpreter, value: Value) -> Value | None:
    """``@dataclass``."""
    if not isinstance(value, ClassValue):
        return None
    return dataclasses.replace(value, style="dataclass")


@model("dataclasses.dataclass")
def dataclass(interpreter: Interpreter, call: Call) -> Value:
    """``dataclass(frozen=True)`` returns the decorator."""
    return External("dataclasses.dataclass")


@model("dataclasses.field")
def field(interpreter: Interpreter, call: Call) -> Value:
    """``field(default=value)`` in the body of a class: only a dataclass uses it."""
    if not isinstance(call.frame.environment.scope, ast.ClassDef):
        return interpreter.fresh("field")
    options = {name: value for name, value in call.kwargs.items() if value != _MISSING}
    init = options.get("init", TRUE)
    return FieldOptions(options.get("default"), options.get("default_factory"), init)


@model("dataclasses.replace")
def replace(interpreter: Interpreter, call: Call) -> Value:
    """``replace(instance, name=value)`` makes a new instance, as a call of the class would."""
    value = call.argument(0)
    if not isinstance(value, Instance):
        return interpreter.fresh("replaced")
    arguments = Arguments([], {**_fields_of(interpreter, value, call.store), **call.kwargs})
    classes = interpreter.classes
    return classes.instantiate(value.cls, dataclasses.replace(call, arguments=arguments))


@model("dataclasses.asdict")
def asdict(interpreter: Interpreter, call: Call) -> Value:
    """``asdict(instance)``, and of all instances in its fields."""

    def dict_of(field_values: Mapping[str, Value]) -> Value:
        entries = tuple((Const(name), value) for name, value in field_values.items())
        return DictValue(interpreter.new_address(), Entries(entries))

    value = call.argument(0, "obj")
    if not _is_dataclass(value):
        return interpreter.fresh("dict")
    return _converted(interpreter, value, call.store, dict_of)


@model("dataclasses.astuple")
def astuple(interpreter: Interpreter, call: Call) -> Value:
    """``astuple(instance)``, and of all instances in its fields."""
    value = call.argument(0, "obj")
    if not _is_dataclass(value):
        return interpreter.fresh("tuple")
    return _converted(
        interpreter, value, call.store, lambda fields: TupleValue(tuple(fields.values()))
    )


@model("dataclasses.fields")
def fields(interpreter: Interpreter, call: Call) -> Value:
    """``fields(class_or_instance)``: objects with the names of the fields."""
    value = call.argument(0, "class_or_instance")
    cls = value.cls if isinstance(value, Instance) else value
    if not isinstance(cls, ClassValue) or cls.style != "dataclass":
        return interpreter.fresh("fields")
    listed = [{"name": Const(name)} for name, _ in cls.fields]
    return TupleValue(tuple(types.namespace(interpreter, names, call.store) for names in listed))


@model("dataclasses.is_dataclass")
def is_dataclass(interpreter: Interpreter, call: Call) -> Value:
    """``is_dataclass(class_or_instance)``."""
    value = call.argument(0, "obj")
    if isinstance(value, Opaque):
        return interpreter.fresh("dataclass", "bool")
    return TRUE if _is_dataclass(value) else FALSE


def _is_dataclass(value: Value) -> bool:
    cls = value.cls if isinstance(value, Instance) else value
    return isinstance(cls, ClassValue) and cls.style == "dataclass"


def _fields_of(interpreter: Interpreter, instance: Instance, store: Store) -> Mapping[str, Value]:
    """The values of the fields of an instance."""
    field_values: dict[str, Value] = {}
    for name, _ in instance.cls.fields:
        value: Value | None = store.get((instance.address, name))
        field_values[name] = interpreter.fresh("field") if value is None else value
    return field_values


def _converted(interpreter: Interpreter, value: Value, store: Store, make: Make) -> Value:
    """A value with its instances of dataclasses replaced."""
    if isinstance(value, Instance) and _is_dataclass(value):
        parts = _fields_of(interpreter, value, store).items()
        return make({name: _converted(interpreter, part, store, make) for name, part in parts})
    if isinstance(value, TupleValue):
        items = tuple(_converted(interpreter, part, store, make) for part in value.items)
        return dataclasses.replace(value, items=items)
    if isinstance(value, ListValue):
        content = joins.items(value, store)
        if not isinstance(content, Repeated):
            items = tuple(_converted(interpreter, part, store, make) for part in content)
            return ListValue(interpreter.new_address(), items, value.kind)
    if isinstance(value, DictValue):
        entries = joins.entries(value, store)
        pairs = tuple(
            (key, _converted(interpreter, part, store, make)) for key, part in entries.items
        )
        return DictValue(interpreter.new_address(), Entries(pairs, entries.rest))
    return value
