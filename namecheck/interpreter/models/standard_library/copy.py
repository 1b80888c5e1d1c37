"""copy: shallow and deep copies."""

from __future__ import annotations

from typing import TypeAlias

from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Address,
    BoundMethod,
    DictValue,
    Entries,
    Generator,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TorchModule,
    TupleValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.primitives import Content
from namecheck.interpreter.models.registry import model
from namecheck.interpreter.models.torch import submodules

Copied: TypeAlias = TensorValue | ListValue | DictValue | Instance | TorchModule
"""The values whose copy is another object."""


@model("copy.copy")
def copy(interpreter: Interpreter, call: Call) -> Value:
    """``copy.copy(x)``."""
    return Copier(interpreter, call, deep=False).value(call.argument(0, "x"))


@model("copy.deepcopy")
def deepcopy(interpreter: Interpreter, call: Call) -> Value:
    """``copy.deepcopy(x)``."""
    return Copier(interpreter, call, deep=True).value(call.argument(0, "x"))


@dataclass(slots=True)
class Copier:
    """Copies values on the path of one call; a value is copied once."""

    interpreter: Interpreter
    call: Call
    deep: bool
    _made: dict[Address, Value] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        """A copy: a new value for a mutable one; a deep copy also copies all that it holds."""
        store = self.call.store
        if isinstance(value, (TensorValue, ListValue, DictValue, Instance, TorchModule)):
            if value.address not in self._made:
                self._make(value)
            return self._made[value.address]
        if isinstance(value, Union):
            return self.interpreter.spread(
                store, [value], lambda layer, values: self._within(layer, values[0])
            )
        if isinstance(value, Opaque):
            return self.interpreter.made_of([value], "copy", value.kind)
        if isinstance(value, Generator):
            return self.interpreter.fresh("copy")
        if isinstance(value, TupleValue):
            return replace(value, items=tuple(map(self._part, value.items)))
        if isinstance(value, BoundMethod):
            return BoundMethod(value.function, self._part(value.receiver))
        return value

    def _within(self, layer: Store, value: Value) -> Value:
        call = replace(self.call, store=layer)
        return Copier(self.interpreter, call, self.deep).value(value)

    def _part(self, value: Value) -> Value:
        return self.value(value) if self.deep else value

    def _make(self, template: Copied) -> None:
        store, address = self.call.store, self.interpreter.new_address()
        if isinstance(template, TensorValue):
            self._made[template.address] = TensorValue(address, joins.held(template, store))
        elif isinstance(template, ListValue):
            content = joins.items(template, store)
            self._made[template.address] = copied = replace(template, address=address, initial=())
            joins.write(copied, store, self._items(content))
        elif isinstance(template, DictValue):
            entries = joins.entries(template, store)
            made = replace(template, address=address, initial=Entries())
            self._made[template.address] = made
            rest = None if entries.rest is None else self._part(entries.rest)
            items, maybe = (
                tuple((key, self._part(entry)) for key, entry in pairs)
                for pairs in (entries.items, entries.maybe)
            )
            joins.write(made, store, Entries(items, rest, maybe))
        else:
            self._made[template.address] = object_ = replace(template, address=address)
            self._attributes(template, object_)

    def _items(self, content: Content) -> Content:
        if isinstance(content, Repeated):
            return Repeated(self._part(content.each))
        return tuple(map(self._part, content))

    def _attributes(self, template: Instance | TorchModule, copy: Instance | TorchModule) -> None:
        """Give a copy the attributes that its template has on this path."""
        store = self.call.store
        modules = self.interpreter.torch_nn
        order = submodules.names(template, store) if isinstance(template, Instance) else ()
        for name in dict.fromkeys((*order, *store.members_of(template.address))):
            content = self._part(store.get((template.address, name)))
            if not isinstance(name, str):  # of an axis, or of what it stands for
                store.set((copy.address, name), content)
                continue
            store.write((copy.address, name), None, content)
            if isinstance(copy, Instance) and modules.is_module(copy):
                modules.on_write(copy, name, content, store)
