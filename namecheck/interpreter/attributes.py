"""Attributes, items and iteration of abstract values."""

from __future__ import annotations

import math
import string
from collections.abc import Hashable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from namecheck.interpreter import joins, narrowing, python_operators
from namecheck.interpreter.machine import Activation, Machine, PathEnds
from namecheck.interpreter.natives import CHANGING
from namecheck.interpreter.objects import (
    FALSE,
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    External,
    FunctionValue,
    Instance,
    ListValue,
    Native,
    Opaque,
    Partial,
    Repeated,
    SliceValue,
    Super,
    TensorValue,
    TorchMethod,
    TorchModule,
    TupleValue,
    Value,
    Wrapped,
)
from namecheck.interpreter.store import Store
from namecheck.syntax import Located as Node
from namecheck.values import Constant

_DTYPES_WORDS: Final = """
float32 float float64 double float16 half bfloat16 complex32 chalf complex64 cfloat complex128
cdouble uint8 uint16 uint32 uint64 int8 int16 short int32 int int64 long bool float8_e4m3fn
float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2
"""
_DTYPES: Final = frozenset(_DTYPES_WORDS.split())
_LAYOUTS: Final = frozenset(
    ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]
)
_MEMORY_FORMATS: Final = frozenset(
    ["contiguous_format", "channels_last", "channels_last_3d", "preserve_format"]
)
# Modules of which a constant says the same wherever it is read.
_MODULES: Final[Mapping[str, ModuleType]] = {"string": string, "math": math}
_REGISTERING: Final = frozenset({"register_buffer", "register_parameter", "add_module"})


def torch_constant(path: str) -> Constant | None:
    """The constant of torch that a dotted name stands for."""
    module, _, name = path.rpartition(".")
    if module != "torch":
        return None
    for kind, names in (
        ("dtype", _DTYPES),
        ("layout", _LAYOUTS),
        ("memory_format", _MEMORY_FORMATS),
    ):
        if name in names:
            return Constant(kind, name)
    return None


class Attributes:
    """Reads and writes what hangs on values."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def read(
        self,
        value: Value,
        name: str,
        node: Node,
        store: Store,
        activation: Activation,
        *,
        alone: bool = True,
    ) -> Value:
        """``value.name``; the path ends where one of several alternatives has no such attribute."""
        if isinstance(value, Opaque):
            return self._of_opaque(value, name, node, store, activation)
        if isinstance(value, TensorValue):
            return self._of_tensor(value, name, node, store, activation)
        if isinstance(value, External):
            return self._of_external(value, name, store)
        if isinstance(value, Instance):
            return self._of_instance(value, name, node, store, activation)
        if isinstance(value, ClassValue):
            return self._of_class(value, name, node, store, activation)
        if isinstance(value, Super):
            return self._of_super(value, name, node, store, activation)
        if isinstance(value, TupleValue) and name in value.fields:
            return value.items[value.fields.index(name)]
        if isinstance(value, TupleValue) and value.cls is not None:
            found = self.class_attribute(value.cls, name, store)
            if found is not None:
                return self._bind(found, value, value.cls, node, store, activation)
        if isinstance(value, Const) and value.value is None and not alone:
            raise PathEnds
        if isinstance(value, (Const, TupleValue, ListValue, DictValue, Repeated)):
            return Native(value, name)
        if isinstance(value, (FunctionValue, BoundMethod, Partial, Wrapped, TorchModule)):
            return self._of_callable(value, name, store)
        return self.machine.fresh("attribute")

    def _of_opaque(
        self, value: Opaque, name: str, node: Node, store: Store, activation: Activation
    ) -> Value:
        written: Value | None = store.get((value.key, name))
        if written is not None:
            return written
        if narrowing.is_tensor(value, store):
            tensor = self.machine.torch.promote(value, store)
            return self._of_tensor(tensor, name, node, store, activation)
        if self.machine.torch.of_tensors_only(name):
            return TorchMethod(name, self.machine.torch.promote(value, store))
        if value.link is not None and name in CHANGING:
            self.machine.calls.give_away(value.link.origins(), store)
        return Opaque(("attribute", value.key, name))

    def _of_tensor(
        self, value: TensorValue, name: str, node: Node, store: Store, activation: Activation
    ) -> Value:
        written: Value | None = store.get((value.address, name))
        if written is not None:
            return written
        patched: Value | None = store.get(("torch.Tensor", name))
        if patched is not None:
            return BoundMethod(patched, value)
        torch = self.machine.torch
        if torch.has(name, "a"):
            operands = [(getattr(node, "value", node), value)]
            return torch.call(name, [value], {}, node, store, activation, operands)
        operator = torch.method(name)
        if operator is not None:
            return TorchMethod(operator, value)
        if name in python_operators.SPECIAL_METHODS:
            return Native(value, name)
        return Opaque(("attribute", value.address, name))

    def _of_external(self, value: External, name: str, store: Store) -> Value:
        written: Value | None = store.get((value.path, name))
        if written is not None:
            return written
        path = f"{value.path}.{name}"
        module = self.machine.imports.frame(value.path, store)
        if module is not None:
            held: Value | None = store.get((module.number, name))
            return External(path) if held is None else held
        constant = torch_constant(path)
        if constant is not None:
            return Const(constant)
        if path == "typing.TYPE_CHECKING":
            return FALSE
        plain = getattr(_MODULES.get(value.path), name, None)
        return Const(plain) if isinstance(plain, (str, float)) else External(path)

    def _of_instance(
        self, value: Instance, name: str, node: Node, store: Store, activation: Activation
    ) -> Value:
        written: Value | None = store.get((value.address, name))
        if written is not None:
            return written
        found = self.class_attribute(value.cls, name, store)
        if found is not None:
            return self._bind(found, value, value.cls, node, store, activation)
        if name == "__class__":
            return value.cls
        if name == "__dict__":
            return self.machine.fresh("dict")
        if name in _REGISTERING and self.derives(value.cls, "Module"):
            return Native(value, name)
        getter = self.class_attribute(value.cls, "__getattr__", store)
        if getter is not None:
            bound = BoundMethod(getter, value)
            return self.machine.calls.call_values(bound, [Const(name)], node, store, activation)
        return Opaque(("attribute", value.address, name))

    def _of_class(
        self, value: ClassValue, name: str, node: Node, store: Store, activation: Activation
    ) -> Value:
        if name in ("__name__", "__qualname__"):
            return Const(value.name)
        found = self.class_attribute(value, name, store)
        if found is None:
            return Opaque(("attribute", value.address, name))
        if isinstance(found, Wrapped):
            if found.kind == "staticmethod":
                return found.function
            if found.kind == "classmethod":
                return BoundMethod(found.function, value)
        return found

    def _of_super(
        self, value: Super, name: str, node: Node, store: Store, activation: Activation
    ) -> Value:
        start = value.receiver.cls if isinstance(value.receiver, Instance) else value.receiver
        order = list(self.mro(start)) if isinstance(start, ClassValue) else []
        after = order[order.index(value.cls) + 1 :] if value.cls in order else []
        for cls in after:
            if isinstance(cls, ClassValue):
                found: Value | None = store.get((cls.address, name))
                if found is not None:
                    return self._bind(found, value.receiver, cls, node, store, activation)
        return External(f"builtins.object.{name}")

    def _of_callable(self, value: Value, name: str, store: Store) -> Value:
        written: Value | None = store.get((value, name))
        if written is not None:
            return written
        if name in ("__name__", "__qualname__") and isinstance(value, FunctionValue):
            return Const(value.name)
        if name == "__wrapped__" and isinstance(value, Wrapped):
            return value.function
        if isinstance(value, Wrapped) and name in ("setter", "getter", "deleter"):
            return Native(value, name)
        return Opaque(("attribute", value, name))

    def _bind(
        self,
        found: Value,
        receiver: Value,
        cls: ClassValue,
        node: Node,
        store: Store,
        activation: Activation,
    ) -> Value:
        """What a class attribute becomes when it is read through an instance."""
        if isinstance(found, FunctionValue):
            return BoundMethod(found, receiver)
        if isinstance(found, Wrapped):
            if found.kind == "staticmethod":
                return found.function
            if found.kind == "classmethod":
                owner = receiver.cls if isinstance(receiver, Instance) else receiver
                return BoundMethod(found.function, owner)
            if found.kind in ("property", "cached"):
                calls = self.machine.calls
                return calls.call_values(found.function, [receiver], node, store, activation)
            return BoundMethod(found, receiver)
        if isinstance(found, Instance):
            getter = self.class_attribute(found.cls, "__get__", store)
            if getter is not None:
                bound = BoundMethod(getter, found)
                return self.machine.calls.call_values(
                    bound, [receiver, cls], node, store, activation
                )
        return found

    def mro(self, cls: ClassValue) -> Iterator[Value]:
        """The class and its bases, depth first, each once and after those derived from it."""
        order: list[Value] = []

        def visit(value: Value) -> None:
            if value in order:
                order.remove(value)
            order.append(value)
            if isinstance(value, ClassValue):
                for base in value.bases:
                    visit(base)

        visit(cls)
        yield from order

    def class_attribute(self, cls: ClassValue, name: str, store: Store) -> Value | None:
        """What a class or one of its bases has under a name."""
        for base in self.mro(cls):
            if isinstance(base, ClassValue):
                found: Value | None = store.get((base.address, name))
                if found is not None:
                    return found
        return None

    def derives(self, cls: ClassValue, path: str) -> bool:
        """Whether a class derives from a class of a library, by the last parts of its name."""
        return any(isinstance(b, External) and b.path.endswith(path) for b in self.mro(cls))

    def write(
        self, target: Value, name: str, value: Value, node: Node, store: Store, act: Activation
    ) -> None:
        """``target.name = value``."""
        if isinstance(target, TensorValue) and self.machine.torch.has(name, "s"):
            operands = [(getattr(node, "value", node), target)]
            self.machine.torch.call(f"{name}=", [target, value], {}, node, store, act, operands)
            return
        if isinstance(target, Instance):
            setter = self.class_attribute(target.cls, f"{name}=", store)
            if setter is not None:
                self.machine.calls.call_values(setter, [target, value], node, store, act)
                return
        owner = _owner(target)
        if isinstance(target, External):
            module = self.machine.imports.frame(target.path, store)
            owner = owner if module is None else module.number
        if owner is not None:
            store.write((owner, name), self._unwritten(target, name, store), value)

    def _unwritten(self, target: Value, name: str, store: Store) -> Value | None:
        """What an attribute is on the paths that do not write it; None where it is missing."""
        if isinstance(target, ClassValue):
            return self.class_attribute(target, name, store)
        if isinstance(target, Instance):
            found = self.class_attribute(target.cls, name, store)
            return BoundMethod(found, target) if isinstance(found, FunctionValue) else found
        if isinstance(target, External):
            return self._of_external(target, name, store)
        return Opaque(("attribute", _owner(target), name))

    def truth(self, value: Value, store: Store) -> bool | None:
        """The truth of a value that is no constant, container or tensor."""
        if isinstance(value, Instance):
            special = ("__bool__", "__len__")
            if any(self.class_attribute(value.cls, name, store) for name in special):
                return None
        if isinstance(value, External):
            return True if value.path.startswith("builtins.") else None
        return True

    # Items

    def item(
        self, value: Value, index: Value, node: Node, store: Store, activation: Activation
    ) -> Value:
        """``value[index]``."""
        if isinstance(value, TensorValue):
            operands = [(getattr(node, "value", node), value)]
            return self.machine.torch.call(
                "__getitem__", [value, index], {}, node, store, activation, operands
            )
        if isinstance(value, (TupleValue, ListValue, Repeated)):
            return self._item_of(value, index, store)
        if isinstance(value, DictValue):
            return self._entry(value, index, node, store, activation)
        if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
            return self._item_of_text(value, index)
        if isinstance(value, Instance):
            found = self.class_attribute(value.cls, "__getitem__", store)
            if found is not None:
                bound = BoundMethod(found, value)
                return self.machine.calls.call_values(bound, [index], node, store, activation)
        if isinstance(value, Opaque) and isinstance(index, (Const, Opaque)):
            key = index.value if isinstance(index, Const) else index.key
            return Opaque(("item", value.key, type(key).__name__, key))
        if isinstance(value, (External, ClassValue)):
            return value  # a generic alias: Batch[int] is Batch
        if isinstance(value, TorchModule):
            return self.machine.fresh("layer")
        return self.machine.fresh("item")

    def _item_of(
        self, value: TupleValue | ListValue | Repeated, index: Value, store: Store
    ) -> Value:
        content: tuple[Value, ...] | Repeated
        if isinstance(value, TupleValue):
            content = value.items
        else:
            content = joins.items(value, store) if isinstance(value, ListValue) else value
        if isinstance(index, SliceValue):
            return self._slice_of(value, content, index, store)
        if isinstance(content, Repeated):
            return joins.pick(content, joins.identity(index, store), store)
        if isinstance(index, Const) and isinstance(index.value, int):
            position = index.value
            if -len(content) <= position < len(content):
                return content[position]
            return self.machine.fresh("item")
        return joins.pick(content, joins.identity(index, store), store)

    def _slice_of(
        self,
        value: TupleValue | ListValue | Repeated,
        content: tuple[Value, ...] | Repeated,
        index: SliceValue,
        store: Store,
    ) -> Value:
        bounds = _bounds(index)
        if isinstance(content, Repeated):
            part: tuple[Value, ...] | Repeated = content
        elif bounds is not None:
            part = content[bounds]
        else:
            part = Repeated(joins.either(content, store))
        if isinstance(value, ListValue):
            return ListValue(self.machine.new_address(), part)
        return part if isinstance(part, Repeated) else TupleValue(part)

    def _item_of_text(self, value: Const, index: Value) -> Value:
        key: Any = None
        if isinstance(index, Const):
            key = index.value
        elif isinstance(index, SliceValue):
            key = _bounds(index)
        try:
            return Const(value.value[key])
        except (TypeError, IndexError, ValueError):
            return self.machine.fresh("item", "str")

    def _entry(
        self, value: DictValue, index: Value, node: Node, store: Store, activation: Activation
    ) -> Value:
        content = joins.entries(value, store)
        for key, entry in content.items:
            if key == index:
                return entry
        if isinstance(index, Const):
            if value.factory is not None and content.rest is None:
                made = self._made(value.factory, node, store, activation)
                joins.write(value, store, Entries((*content.items, (index, made)), None))
                return made
            if content.rest is None:
                return self.machine.fresh("entry")
            return joins.pick(Repeated(content.rest), index, store)
        choices = [entry for _, entry in content.items]
        choices += [] if content.rest is None else [content.rest]
        if value.factory is not None and content.rest is None:
            choices.append(self._made(value.factory, node, store, activation))
            joins.write(value, store, Entries(content.items, choices[-1]))
        return joins.pick(tuple(choices), joins.identity(index, store), store)

    def _made(self, factory: Value, node: Node, store: Store, activation: Activation) -> Value:
        """What a defaultdict puts under a key that is missing."""
        return self.machine.calls.call_values(factory, [], node, store, activation)

    def write_item(
        self,
        target: Value,
        index: Value,
        value: Value,
        node: Node,
        store: Store,
        activation: Activation,
    ) -> None:
        """``target[index] = value``."""
        if isinstance(target, TensorValue):
            operands = [(getattr(node, "value", node), target), (node, value)]
            self.machine.torch.call(
                "__setitem__", [target, index, value], {}, node, store, activation, operands[:1]
            )
        elif isinstance(target, DictValue):
            self._write_entry(target, index, value, store)
        elif isinstance(target, ListValue):
            self._write_list(target, index, value, node, store, activation)
        elif isinstance(target, Instance):
            found = self.class_attribute(target.cls, "__setitem__", store)
            if found is not None:
                bound = BoundMethod(found, target)
                self.machine.calls.call_values(bound, [index, value], node, store, activation)
        elif isinstance(target, Opaque) and target.link is not None:
            self.machine.calls.give_away(target.link.origins(), store)

    def _write_entry(self, target: DictValue, index: Value, value: Value, store: Store) -> None:
        content = joins.entries(target, store)
        if isinstance(index, (Const, TupleValue)):
            items = dict(content.items)
            items[index] = value
            joins.write(target, store, Entries(tuple(items.items()), content.rest))
            return
        join = joins.Joiner(store, store).value
        items = {key: join(entry, value) for key, entry in content.items}
        rest = value if content.rest is None else join(content.rest, value)
        joins.write(target, store, Entries(tuple(items.items()), rest))

    def _write_list(
        self,
        target: ListValue,
        index: Value,
        value: Value,
        node: Node,
        store: Store,
        activation: Activation,
    ) -> None:
        content = joins.items(target, store)
        if isinstance(index, SliceValue):
            more = self.iterate(value, node, store, activation)
            bounds = _bounds(index)
            if isinstance(content, Repeated) or isinstance(more, Repeated) or bounds is None:
                joins.write(target, store, Repeated(self.machine.fresh("item")))
                return
            items = list(content)
            items[bounds] = more
            joins.write(target, store, tuple(items))
            return
        if isinstance(content, Repeated):
            each = joins.either((content.each, value), store)
            joins.write(target, store, Repeated(each))
        elif isinstance(index, Const) and isinstance(index.value, int):
            if -len(content) <= index.value < len(content):
                items = list(content)
                items[index.value] = value
                joins.write(target, store, tuple(items))
        else:
            joins.write(target, store, Repeated(self.machine.fresh("item")))

    # Iteration

    def iterate(
        self, value: Value, node: Node, store: Store, activation: Activation
    ) -> tuple[Value, ...] | Repeated:
        """The items that iterating a value gives, or what each of them is."""
        if isinstance(value, TupleValue):
            return value.items
        if isinstance(value, ListValue):
            content = joins.items(value, store)
            if value.kind == "iterator":
                joins.write(value, store, ())
            return content
        if isinstance(value, Repeated):
            return value
        if isinstance(value, DictValue):
            entries = joins.entries(value, store)
            if entries.rest is None:
                return tuple(key for key, _ in entries.items)
            return Repeated(self.machine.fresh("key"))
        if isinstance(value, Const) and isinstance(value.value, str):
            return tuple(Const(letter) for letter in value.value)
        if isinstance(value, TensorValue):
            return self._rows_of(value, node, store, activation)
        if isinstance(value, Instance):
            return self._iterate_instance(value, node, store, activation)
        if isinstance(value, ClassValue) and value.style == "enum":
            return tuple(
                member for name, _ in value.fields if (member := store.get((value.address, name)))
            )
        return Repeated(self.machine.fresh("item"))

    def _rows_of(
        self, value: TensorValue, node: Node, store: Store, activation: Activation
    ) -> tuple[Value, ...] | Repeated:
        if not self.machine.torch.has("unbind", "m"):
            return Repeated(self.machine.fresh("row"))
        rows = self.machine.torch.call("unbind", [value], {}, node, store, activation)
        if isinstance(rows, TupleValue):
            return rows.items
        if isinstance(rows, Repeated):
            return rows
        return Repeated(self.machine.fresh("row"))

    def _iterate_instance(
        self, value: Instance, node: Node, store: Store, activation: Activation
    ) -> tuple[Value, ...] | Repeated:
        calls = self.machine.calls
        for name in ("__iter__", "__getitem__"):
            found = self.class_attribute(value.cls, name, store)
            if found is None:
                continue
            if name == "__getitem__":
                index = [self.machine.fresh("index", "int")]
                return Repeated(
                    calls.call_values(BoundMethod(found, value), index, node, store, activation)
                )
            result = calls.call_values(BoundMethod(found, value), [], node, store, activation)
            if isinstance(result, Instance):
                step = self.class_attribute(result.cls, "__next__", store)
                if step is None:
                    return Repeated(self.machine.fresh("item"))
                bound = BoundMethod(step, result)
                return Repeated(calls.call_values(bound, [], node, store, activation))
            return self.iterate(result, node, store, activation)
        return Repeated(self.machine.fresh("item"))


def _owner(value: Value) -> Hashable | None:
    """Under what the attributes of a value stand in the store."""
    if isinstance(value, (Instance, ClassValue, TensorValue, TorchModule)):
        return value.address
    if isinstance(value, Opaque):
        return value.key
    if isinstance(value, External):
        return value.path
    if isinstance(value, (FunctionValue, BoundMethod, Partial, Wrapped)):
        return value
    return None


def _bounds(index: SliceValue) -> slice | None:
    """The slice, where all of its parts are constants."""
    parts = (index.lower, index.upper, index.step)
    known = [part.value for part in parts if isinstance(part, Const)]
    if len(known) < 3 or not all(isinstance(part, (int, type(None))) for part in known):
        return None
    if known[2] == 0:
        return None
    return slice(*known)
