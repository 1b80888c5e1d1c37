"""What the module dataclasses offers: fields, and copies of instances with others."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    TRUE,
    ClassValue,
    Const,
    DictValue,
    Entries,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.calls import Arguments, Call
from namecheck.interpreter.evaluation.classes import FIELD, MISSING, Classes
from namecheck.interpreter.evaluation.machine import Machine

# Makes something of what the fields of an instance hold.
Make: TypeAlias = Callable[[Mapping[str, Value]], Value]


class Records:
    """Calls the functions of dataclasses."""

    def __init__(self, machine: Machine, classes: Classes) -> None:
        self.machine = machine
        self._classes = classes
        self.functions: Mapping[str, Callable[[Call], Value]] = {
            "field": self._field,
            "replace": self._replace,
            "asdict": self._as_dict,
            "astuple": self._as_tuple,
            "fields": self._fields,
            "is_dataclass": self._is_dataclass,
        }

    def namespace(self, attributes: Mapping[str, Value], store: Store) -> Instance:
        """An object that has what it was made with."""
        cls = ClassValue("SimpleNamespace", "SimpleNamespace")
        made = Instance(self.machine.new_address(), cls)
        for name, value in attributes.items():
            store.set((made.address, name), value)
        return made

    def _field(self, call: Call) -> Value:
        if not isinstance(call.activation.frame.scope, ast.ClassDef):
            return self.machine.fresh("field")  # only a dataclass makes something of it
        default = call.kwargs.get("default", MISSING)
        factory = call.kwargs.get("default_factory", MISSING)
        return TupleValue((default, factory, call.kwargs.get("init", TRUE)), FIELD)

    def _held(self, value: Instance, store: Store) -> dict[str, Value]:
        """What the fields of an instance hold."""
        held: dict[str, Value] = {}
        for name, _ in value.cls.fields:
            found: Value | None = store.get((value.address, name))
            held[name] = self.machine.fresh("field") if found is None else found
        return held

    def _replace(self, call: Call) -> Value:
        """``replace`` makes a new instance, as a call of the class would."""
        value = call.argument(0)
        if not isinstance(value, Instance):
            return self.machine.fresh("replaced")
        arguments = Arguments([], {**self._held(value, call.store), **call.kwargs})
        return self._classes.instantiate(value.cls, replace(call, arguments=arguments))

    def _as_dict(self, call: Call) -> Value:
        value = call.argument(0, "obj")
        if not _is_record(value):
            return self.machine.fresh("dict")
        return self._plain(value, call.store, self._dict_of)

    def _as_tuple(self, call: Call) -> Value:
        value = call.argument(0, "obj")
        if not _is_record(value):
            return self.machine.fresh("tuple")
        return self._plain(value, call.store, _tuple_of)

    def _dict_of(self, held: Mapping[str, Value]) -> Value:
        entries = tuple((Const(name), value) for name, value in held.items())
        return DictValue(self.machine.new_address(), Entries(entries))

    def _plain(self, value: Value, store: Store, make: Make) -> Value:
        """A value in which something else is made of the instances of dataclasses."""
        if isinstance(value, Instance) and _is_record(value):
            held = self._held(value, store).items()
            return make({name: self._plain(part, store, make) for name, part in held})
        if isinstance(value, TupleValue):
            parts = tuple(self._plain(part, store, make) for part in value.items)
            return replace(value, items=parts)
        if isinstance(value, ListValue):
            content = joins.items(value, store)
            if not isinstance(content, Repeated):
                parts = tuple(self._plain(part, store, make) for part in content)
                return ListValue(self.machine.new_address(), parts, value.kind)
        if isinstance(value, DictValue):
            known = joins.entries(value, store)
            items = tuple((key, self._plain(part, store, make)) for key, part in known.items)
            return DictValue(self.machine.new_address(), Entries(items, known.rest))
        return value

    def _fields(self, call: Call) -> Value:
        value = call.argument(0, "class_or_instance")
        cls = value.cls if isinstance(value, Instance) else value
        if not isinstance(cls, ClassValue) or cls.style != "dataclass":
            return self.machine.fresh("fields")
        listed = [{"name": Const(name)} for name, _ in cls.fields]
        return TupleValue(tuple(self.namespace(names, call.store) for names in listed))

    def _is_dataclass(self, call: Call) -> Value:
        value = call.argument(0, "obj")
        if isinstance(value, Opaque):
            return self.machine.fresh("dataclass", "bool")
        return TRUE if _is_record(value) else FALSE


def _is_record(value: Value) -> bool:
    cls = value.cls if isinstance(value, Instance) else value
    return isinstance(cls, ClassValue) and cls.style == "dataclass"


def _tuple_of(held: Mapping[str, Value]) -> Value:
    return TupleValue(tuple(held.values()))
