"""What ``copy.copy`` and ``copy.deepcopy`` make of a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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
from namecheck.interpreter.evaluation.calls import Call
from namecheck.interpreter.evaluation.machine import Machine


@dataclass(slots=True)
class Copier:
    """Copies values on the path of one call; what was copied once is the same copy again."""

    machine: Machine
    call: Call
    deep: bool
    _made: dict[Address, Value] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        """A copy: of what is mutable a new value, of a deep one all that it holds."""
        store = self.call.store
        if isinstance(value, (TensorValue, ListValue, DictValue, Instance, TorchModule)):
            if value.address not in self._made:
                self._make(value)
            return self._made[value.address]
        if isinstance(value, Union):
            return self.machine.expressions.spread(
                store, [value], lambda layer, values: self._within(layer, values[0])
            )
        if isinstance(value, Opaque):
            return self.machine.made_of([value], "copy", value.kind)
        if isinstance(value, Generator):
            return self.machine.fresh("copy")
        if isinstance(value, TupleValue):
            return replace(value, items=tuple(map(self._part, value.items)))
        if isinstance(value, BoundMethod):
            return BoundMethod(value.function, self._part(value.receiver))
        return value

    def _within(self, layer: Store, value: Value) -> Value:
        call = replace(self.call, store=layer)
        return Copier(self.machine, call, self.deep).value(value)

    def _part(self, value: Value) -> Value:
        return self.value(value) if self.deep else value

    def _make(self, value: TensorValue | ListValue | DictValue | Instance | TorchModule) -> None:
        store, address = self.call.store, self.machine.new_address()
        if isinstance(value, TensorValue):
            self._made[value.address] = TensorValue(address, joins.held(value, store))
        elif isinstance(value, ListValue):
            content = joins.items(value, store)
            self._made[value.address] = made = replace(value, address=address, initial=())
            joins.write(made, store, self._items(content))
        elif isinstance(value, DictValue):
            entries = joins.entries(value, store)
            self._made[value.address] = held = replace(value, address=address, initial=Entries())
            rest = None if entries.rest is None else self._part(entries.rest)
            items = tuple((key, self._part(entry)) for key, entry in entries.items)
            joins.write(held, store, Entries(items, rest))
        else:
            self._made[value.address] = copied = replace(value, address=address)
            self._attributes(value, copied)

    def _items(self, content: tuple[Value, ...] | Repeated) -> tuple[Value, ...] | Repeated:
        if isinstance(content, Repeated):
            return Repeated(self._part(content.each))
        return tuple(map(self._part, content))

    def _attributes(self, value: Instance | TorchModule, copied: Value) -> None:
        """Give a copy the attributes that the value has on this path."""
        store = self.call.store
        modules = self.machine.modules
        found = {
            key[1]: content
            for key, content in store.gathered().items()
            if isinstance(key, tuple) and len(key) == 2 and key[0] == value.address
        }
        order = modules.names(value, store) if isinstance(value, Instance) else ()
        for name in dict.fromkeys((*order, *found)):
            content = self._part(found[name])
            store.set((getattr(copied, "address", None), name), content)
            if isinstance(copied, Instance) and modules.is_module(copied):
                modules.written(copied, name, content, store)
