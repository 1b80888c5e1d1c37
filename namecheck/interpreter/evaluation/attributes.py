"""Attributes of abstract values."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Final

from namecheck import operators
from namecheck.core import dtypes, layouts
from namecheck.core.dataclasses import replace
from namecheck.core.names import Contradiction
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Constant
from namecheck.core.trees import CHANGING, OF_CONTAINERS
from namecheck.interpreter.domain import class_lookup, device_values, joins, opaque_tensors
from namecheck.interpreter.domain.cells import (
    MODULE_CALLS,
    AttributeNames,
    CandidatesOf,
    LayerTest,
    lacking,
)
from namecheck.interpreter.domain.provenance import Attribute, Result, Version
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRUE,
    BoundMethod,
    BuiltinMethod,
    ClassValue,
    Const,
    DictValue,
    External,
    FieldOptions,
    FunctionValue,
    Generator,
    Instance,
    ListValue,
    Opaque,
    Partial,
    Repeated,
    Super,
    TensorValue,
    TorchMethod,
    TorchModule,
    TupleValue,
    Value,
    Wrapped,
    has_failed,
)
from namecheck.interpreter.evaluation import axis_bindings, havoc, python_operators
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# The methods of library classes that leave a test or the program, or that expect an error.
_LEAVING: Final[Mapping[str, frozenset[str]]] = {
    "argparse.ArgumentParser": frozenset({"error", "exit"}),
    "unittest.TestCase": frozenset({"assertRaises", "fail", "skipTest"}),
}
# The cell of an instance any attribute of which may have been written.
FORGOTTEN: Final = "<forgotten>"
# The attributes that are the dicts of others: of an object, and of a module for its tensors.
DICTS: Final = frozenset({"__dict__", "_parameters", "_buffers"})
# The tensors of layers that are read of modules of any kind.
_OF_LAYERS: Final = frozenset({"weight", "bias"})
# Special methods that library classes may define, and whose results rarely matter.
_OF_OBJECTS: Final = frozenset(
    {"__init__", "__post_init__", "__init_subclass__", "__setattr__", "__delattr__", "__enter__"}
)
# Modules whose constants are the same everywhere, with the Python module that has their numbers and
# texts: ``torch.inf``, ``numpy.pi``.
_MODULES: Final[Mapping[str, str]] = {
    "string": "string",
    "math": "math",
    "torch": "math",
    "numpy": "math",
}


def torch_constant(path: str) -> Constant | None:
    """The constant of torch with a dotted name."""
    module, _, name = path.rpartition(".")
    if module != "torch":
        return None
    dtype = dtypes.named(name)
    if dtype is not None:
        return Constant("dtype", dtype)
    for kind, names in (("layout", layouts.LAYOUTS), ("memory_format", layouts.MEMORY_FORMATS)):
        if name in names:
            return Constant(kind, name)
    return None


def _missing(word: str) -> Contradiction | None:
    """The error of torch for a misspelt constant."""
    return dtypes.missing(word) or layouts.missing(word)


def _entry(dict_value: DictValue, name: str, store: Store) -> Value | None:
    """The entry of an ``nn.ModuleDict``, or the like; of a plain dict it would be an error."""
    if hasattr(dict, name):
        return None
    return dict(joins.entries(dict_value, store).items).get(Const(name))


class Attributes:
    """Reads and writes attributes of values."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def read(
        self,
        value: Value,
        name: str,
        node: Node,
        store: Store,
        frame: Frame,
        *,
        alone: bool = True,
    ) -> Value:
        """``value.name``; the path ends where one of several alternatives has no such attribute."""
        of_device = device_values.attribute(value, name)
        if of_device is not None:
            return of_device
        if isinstance(value, Opaque):
            if not alone:
                self.interpreter.findings.judged.hear(frame.environment.number, node)
            return self._of_opaque(value, name, node, store, frame)
        if isinstance(value, TensorValue):
            return self._of_tensor(value, name, node, store, frame)
        if isinstance(value, External):
            wrong = _missing(name) if value.path == "torch" else None
            if wrong is not None and store.get((value.path, name)) is None:
                self.interpreter.report(wrong, node, store, frame)
            return self._of_external(value, name, store)
        if isinstance(value, Instance):
            return self._of_instance(value, name, node, store, frame)
        if isinstance(value, ClassValue):
            return self._of_class(value, name, node, store, frame)
        if isinstance(value, Super):
            return self._of_super(value, name, node, store, frame)
        if isinstance(value, TupleValue) and name in value.fields:
            return value.items[value.fields.index(name)]
        if isinstance(value, TupleValue) and value.cls is not None:
            member = class_lookup.attribute(value.cls, name, store)
            if member is not None:
                return self._bind(member, value, value.cls, node, store, frame)
        if isinstance(value, Const) and value.value is None and not alone:
            self.interpreter.fail("AttributeError")
        if isinstance(value, Const) and isinstance(value.value, Constant):
            return self._of_constant(value.value, name)
        if isinstance(value, DictValue) and (entry := _entry(value, name, store)) is not None:
            return entry
        if isinstance(value, (Const, TupleValue, ListValue, DictValue, Repeated, Generator)):
            return BuiltinMethod(value, name)
        if isinstance(value, (FunctionValue, BoundMethod, Partial, Wrapped, TorchModule)):
            return self._of_callable(value, name, store)
        return self.interpreter.fresh("attribute")

    def _of_constant(self, constant: Constant, name: str) -> Value:
        """``dtype.is_floating_point``; other attributes of a torch constant are unknown."""
        answer = dtypes.property_of(constant.name, name) if constant.kind == "dtype" else None
        return self.interpreter.fresh("attribute") if answer is None else Const(answer)

    def _of_opaque(
        self, opaque: Opaque, name: str, node: Node, store: Store, frame: Frame
    ) -> Value:
        override: Value | None = store.get((opaque.key, name))
        if override is not None:
            return override
        if opaque.key.failed:  # the program has ended, or goes on anyhow
            self.interpreter.torch.forget(name, [opaque], {}, store)
            return Opaque(Attribute(opaque.key, name))
        if opaque_tensors.is_tensor(opaque, store):
            tensor = self.interpreter.torch.promote(opaque, store)
            return self._of_tensor(tensor, name, node, store, frame)
        if self.interpreter.torch.of_tensors_only(name) or self._is_of_tensors(name, frame):
            return TorchMethod(name, self.interpreter.torch.promote(opaque, store))
        if opaque.kind is not None and name in _LEAVING.get(opaque.kind, ()):
            return External(f"{opaque.kind}.{name}")
        if opaque.link is not None and name in CHANGING:
            self.interpreter.havoc_containers(opaque.link.origins, store)
        match opaque.key.provenance:
            case Attribute(Instance() | TorchModule() as owner, str() as part) if (
                part in DICTS and name in CHANGING
            ):
                self.forget(owner, store)
            case Result("globals", (int() as number,)) if name in CHANGING:
                havoc.variables(number, store)
        unwritten = Opaque(Attribute(opaque.key, name))
        layer = store.fact(LayerTest, opaque.key) if name in _OF_LAYERS else None
        if layer is not None and self.interpreter.context.evidence.is_observed:
            from namecheck.interpreter.evaluation import tested_layers  # few files test for layers

            return tested_layers.parameter(self.interpreter, layer, unwritten, name, store)
        among = store.fact(CandidatesOf, opaque.key) if name in ("name", "value") else None
        if among is not None and store.fact(CandidatesOf, unwritten.key) is None:
            from namecheck.interpreter.domain import candidates  # few values have any

            store.set(CandidatesOf(unwritten.key), candidates.parts(among, name, store))
        return unwritten

    def _is_of_tensors(self, name: str, frame: Frame) -> bool:
        """Whether the code itself tells that what has a method of this name is a tensor."""
        if not self.interpreter.context.evidence.is_observed:
            return False
        from namecheck.interpreter.evaluation import observed_axes  # only where it is asked for

        return observed_axes.is_of_tensors(self.interpreter, name, frame)

    def _of_tensor(
        self, tensor_value: TensorValue, name: str, node: Node, store: Store, frame: Frame
    ) -> Value:
        override: Value | None = store.get((tensor_value.address, name))
        if override is not None:
            return override
        patched: Value | None = store.get(("torch.Tensor", name))
        if patched is not None:
            return BoundMethod(patched, tensor_value)
        if self.interpreter.torch.has(name, "a"):
            operands = [(getattr(node, "value", node), tensor_value)]
            return self.interpreter.torch.call(
                name, [tensor_value], {}, node, store, frame, operands
            )
        operator = self.interpreter.torch.method(name)
        if operator is not None and name != "as_subclass":
            return TorchMethod(operator, tensor_value)
        if name == "as_subclass":
            return BuiltinMethod(tensor_value, name)
        in_place = name.endswith("_") and not name.startswith("_")
        if in_place or name in python_operators.SPECIAL_METHODS:
            return BuiltinMethod(tensor_value, name)
        return Opaque(Attribute(tensor_value.address, name))

    def _of_external(self, external: External, name: str, store: Store) -> Value:
        override: Value | None = store.get((external.path, name))
        if override is not None:
            return override
        path = f"{external.path}.{name}"
        member = self.interpreter.imports.member(external.path, name, store)
        if member is not None:
            return member
        constant = torch_constant(path)
        if constant is not None:
            return Const(constant)
        if name == "__version__" or external.path == "torch.version":
            return Opaque(Version(path))
        if path == "typing.TYPE_CHECKING":
            return FALSE
        home = _MODULES.get(external.path)
        plain = None if home is None else getattr(import_module(home), name, None)
        return Const(plain) if isinstance(plain, (str, float)) else External(path)

    def _of_instance(
        self, value: Instance, name: str, node: Node, store: Store, frame: Frame
    ) -> Value:
        override: Value | None = store.get((value.address, name))
        if isinstance(override, TensorValue) and value.address in store.ledger.several:
            return axis_bindings.of_any(override, value, store)
        if override is not None:
            return override
        now = class_lookup.of_now(value, store)
        if now is None:
            return self.interpreter.fresh("attribute")
        value = now
        member = class_lookup.attribute(value.cls, name, store)
        if member is not None and not self._is_default(member, name, value, store):
            return self._bind(member, value, value.cls, node, store, frame)
        if name == "__class__":
            return value.cls
        is_dict = name in DICTS and self.interpreter.torch_nn.is_module(value)
        if is_dict or name == "__dict__":
            return Opaque(Attribute(value, name), "dict")
        own = self._inherited(value, name, node, store, frame)
        if own is not None:
            return own
        for path, names in _LEAVING.items():
            if name in names and class_lookup.derives(value.cls, path.rpartition(".")[2]):
                return External(f"{path}.{name}")
        getter = class_lookup.attribute(value.cls, "__getattr__", store)
        if getter is not None:
            bound = BoundMethod(getter, value)
            return self.interpreter.call_values(bound, [Const(name)], node, store, frame)
        declared = self.interpreter.declarations.field(value, name, store)
        if declared is not None:
            store.set((value.address, name), declared)
            return declared
        unwritten = Opaque(Attribute(value.address, name))
        if value.cls.fields:
            from namecheck.interpreter.evaluation import declared_candidates  # few have fields

            declared_candidates.note_field(self.interpreter, value.cls, name, unwritten, store)
        return unwritten

    def _is_default(self, member: Value, name: str, value: Instance, store: Store) -> bool:
        """Whether a class has this only as the default of what an instance may have of its own.

        ``field(…)`` is no value of the attribute. Unknown code that constructs the instances may
        set whatever is annotated, and any other data if no constructor of the program runs.
        """
        if isinstance(member, FieldOptions):
            return True
        is_data = not isinstance(member, (FunctionValue, BoundMethod, Wrapped, ClassValue))
        if is_data and store.get((value.address, FORGOTTEN)) is not None:
            return True
        cls = value.cls
        if cls.style != "foreign" or not is_data:
            return False
        if class_lookup.attribute(cls, "__init__", store) is None:
            return True
        nodes = (base.node for base in class_lookup.mro(cls) if isinstance(base, ClassValue))
        fields = self.interpreter.declarations.fields
        return any(node is not None and name in fields(node) for node in nodes)

    def _inherited(
        self, value: Instance, name: str, node: Node, store: Store, frame: Frame
    ) -> Value | None:
        """An attribute of an instance that comes from a library class among its bases."""
        modules = self.interpreter.torch_nn
        library_attribute = (
            modules.attribute(value, name, store) if modules.is_module(value) else None
        )
        own = joins.inherited(value, store)
        if library_attribute is not None or own is None:
            return library_attribute
        if isinstance(own, ListValue) and name in ("forward", "__call__"):
            return own
        if isinstance(own, DictValue) and (entry := _entry(own, name, store)) is not None:
            return entry
        if isinstance(own, (ListValue, DictValue)):
            return BuiltinMethod(own, name) if name in OF_CONTAINERS else None
        return self.read(own, name, node, store, frame)

    def _of_class(
        self, cls: ClassValue, name: str, node: Node, store: Store, frame: Frame
    ) -> Value:
        if name in ("__name__", "__qualname__"):
            return Const(cls.name)
        member = class_lookup.attribute(cls, name, store)
        if member is None:
            return Opaque(Attribute(cls.address, name))
        if isinstance(member, Wrapped):
            if member.kind == "staticmethod":
                return member.function
            if member.kind == "classmethod":
                return BoundMethod(member.function, cls)
        return member

    def _of_super(
        self, super_value: Super, name: str, node: Node, store: Store, frame: Frame
    ) -> Value:
        start = (
            super_value.receiver.cls
            if isinstance(super_value.receiver, Instance)
            else super_value.receiver
        )
        order = list(class_lookup.mro(start)) if isinstance(start, ClassValue) else []
        after = order[order.index(super_value.cls) + 1 :] if super_value.cls in order else []
        for cls in after:
            if isinstance(cls, ClassValue):
                member: Value | None = store.get((cls.address, name))
                if member is not None:
                    return self._bind(member, super_value.receiver, cls, node, store, frame)
        if isinstance(super_value.receiver, Instance):
            if name == "__init__" and any(map(havoc.may_be_stranger, after)):
                self._constructed(super_value.receiver, store)
            if name in ("__init__", "__getattr__", "__setattr__"):
                return BuiltinMethod(super_value.receiver, name)
            member = self._inherited(super_value.receiver, name, node, store, frame)
            if member is not None:
                return member
        is_open = any(not isinstance(cls, ClassValue) for cls in after)
        if name == "__getattribute__" or (is_open and name not in _OF_OBJECTS):
            return self.interpreter.fresh("inherited")
        return External(f"builtins.object.{name}")

    def _of_callable(self, value: Value, name: str, store: Store) -> Value:
        override: Value | None = store.get((_owner(value), name))
        if override is not None:
            return override
        if isinstance(value, TorchModule):
            layer_attribute = self.interpreter.torch_nn.attribute(value, name, store)
            if layer_attribute is not None:
                return layer_attribute
        if name in ("__name__", "__qualname__") and isinstance(value, FunctionValue):
            return Const(value.name)
        if name == "__wrapped__" and isinstance(value, Wrapped):
            return value.function
        if isinstance(value, Wrapped) and name in ("setter", "getter", "deleter"):
            return BuiltinMethod(value, name)
        return Opaque(Attribute(value, name))

    def _bind(
        self,
        member: Value,
        receiver: Value,
        cls: ClassValue,
        node: Node,
        store: Store,
        frame: Frame,
    ) -> Value:
        """A class attribute as it is read through an instance."""
        if isinstance(member, FunctionValue):
            return BoundMethod(member, receiver)
        if isinstance(member, Wrapped):
            if member.kind == "staticmethod":
                return member.function
            if member.kind == "classmethod":
                owner = receiver.cls if isinstance(receiver, Instance) else receiver
                return BoundMethod(member.function, owner)
            if isinstance(member.function, Partial) and member.kind == "partialmethod":
                return replace(member.function, args=(receiver, *member.function.args))
            if member.kind in ("property", "cached"):
                return self.interpreter.call_values(member.function, [receiver], node, store, frame)
            return BoundMethod(member, receiver)
        if isinstance(member, Instance):
            getter = class_lookup.attribute(member.cls, "__get__", store)
            if getter is not None:
                bound = BoundMethod(getter, member)
                return self.interpreter.call_values(bound, [receiver, cls], node, store, frame)
        return member

    def write(
        self, target: Value, name: str, value: Value, node: Node, store: Store, frame: Frame
    ) -> None:
        """``target.name = value``."""
        if isinstance(target, TensorValue) and self.interpreter.torch.has(f"{name}=", "s"):
            operands = [(getattr(node, "value", node), target)]
            self.interpreter.torch.call(
                f"{name}=", [target, value], {}, node, store, frame, operands
            )
            return
        if isinstance(target, Opaque) and self.interpreter.torch.has(f"{name}=", "s"):
            self.interpreter.torch.forget(f"{name}=", [], {"out": target}, store)
        if isinstance(target, TensorValue) and name == "data":
            self.interpreter.torch.replace_data(target, value, store)
        if isinstance(target, Instance):
            descriptor = class_lookup.attribute(target.cls, name, store)
            if isinstance(descriptor, Wrapped) and descriptor.setter is not None:
                self.interpreter.call_values(descriptor.setter, [target, value], node, store, frame)
                return
            if isinstance(descriptor, Instance):
                setter = class_lookup.method(descriptor, "__set__", store)
                if setter is not None:
                    bound = BoundMethod(setter, descriptor)
                    self.interpreter.call_values(bound, [target, value], node, store, frame)
                    return
            own = class_lookup.attribute(target.cls, "__setattr__", store)
            if own is not None:
                self.interpreter.call_values(own, [target, Const(name), value], node, store, frame)
                return
            if isinstance(value, Opaque) and value.kind is None and not has_failed(value):
                value = self.interpreter.declarations.field(target, name, store) or value
        self._write(target, name, value, store)

    def set(self, target: Value, name: Value, value: Value, store: Store) -> None:
        """``object.__setattr__(target, name, value)``; an unknown name may be any attribute."""
        if isinstance(name, Const) and isinstance(name.value, str):
            self._write(target, name.value, value, store)
        else:
            self.forget(target, store)

    def forget(self, target: Value, store: Store, pattern: str | None = None) -> None:
        """Make the attributes that were set on a value unknown, whose names match the pattern."""
        owner = _owner(target)
        for word in () if owner is None else store.members_of(owner):
            if pattern is None or (isinstance(word, str) and re.fullmatch(pattern, word)):
                store.set((owner, word), self.interpreter.fresh("written"))
        if isinstance(target, Instance):
            store.set((target.address, FORGOTTEN), TRUE)
            if pattern is None:
                self.interpreter.havoc_containers([joins.opened(target, store)], store)

    def _constructed(self, instance: Instance, store: Store) -> None:
        """Make the attributes unknown that an unknown constructor may have written again."""
        for name in store.get(AttributeNames(instance.address), ()):
            store.set((instance.address, name), self.interpreter.fresh("written"))
        store.set((instance.address, FORGOTTEN), TRUE)

    def _write(self, target: Value, name: str, value: Value, store: Store) -> None:
        if isinstance(target, Instance) and self.interpreter.torch_nn.is_module(target):
            self.interpreter.torch_nn.on_write(target, name, value, store)
        self.interpreter.torch_devices.on_write(target, store)
        if isinstance(target, (Opaque, External)):
            self._give_away(value, store)
        owner = _owner(target)
        is_external = isinstance(target, External) and target.path.startswith("torch.nn.")
        if is_external or (isinstance(target, TorchModule) and name == "forward"):
            store.write(MODULE_CALLS, NONE, TRUE)
        if isinstance(target, External):
            module = self.interpreter.imports.environment(target.path, store)
            owner = owner if module is None else module.number
        if owner in store.ledger.several and value != store.get((owner, name)):
            value = self.interpreter.fresh("written")  # to one of several that it stands for
            store.set((owner, lacking(name)), TRUE)
        is_observed = self.interpreter.context.evidence.is_observed
        if is_observed and isinstance(target, Instance) and isinstance(value, TensorValue):
            from namecheck.interpreter.evaluation import tied_attributes  # only where asked for

            tied_attributes.learn(target, name, value, store)
        if owner is not None:
            store.write((owner, name), self._unwritten(target, name, store), value)

    def _give_away(self, value: Value, store: Store) -> None:
        """Make everything unknown that unknown code may change once an object of it has a value."""
        self.interpreter.havoc_containers([value], store)
        while isinstance(value, (BoundMethod, Partial, Wrapped)):
            value = value.function
        if isinstance(value, FunctionValue):
            self.interpreter.havoc_variables(value, store)

    def _unwritten(self, target: Value, name: str, store: Store) -> Value | None:
        """The attribute on the paths that do not write it; None where it is missing."""
        if isinstance(target, ClassValue):
            return class_lookup.attribute(target, name, store)
        if isinstance(target, Instance):
            member = class_lookup.attribute(target.cls, name, store)
            return BoundMethod(member, target) if isinstance(member, FunctionValue) else member
        if isinstance(target, External):
            return self._of_external(target, name, store)
        if isinstance(target, TorchModule):
            return self._of_callable(target, name, store)
        return Opaque(Attribute(_owner(target), name))

    def truth(self, value: Value, store: Store) -> bool | None:
        """The truth of a value that is no constant, container or tensor."""
        if isinstance(value, Instance):
            special = ("__bool__", "__len__")
            if any(class_lookup.attribute(value.cls, name, store) for name in special):
                return None
            own = joins.opened(value, store)
            return True if own is value else self.interpreter.truth(own, store)
        if isinstance(value, External):
            return True if value.path.startswith("builtins.") else None
        # A property of a dtype is no method: `dtype.is_floating_point`.
        return None if isinstance(value, TorchMethod) and _asks_dtype(value.operator) else True


def _asks_dtype(operator: str) -> bool:
    return dtypes.property_of(dtypes.STANDARD_DEFAULT, operators.key_of(operator)) is not None


def _owner(value: Value) -> Hashable | None:
    """The key of a value's attributes in the store."""
    if isinstance(value, (Instance, ClassValue, TensorValue, TorchModule)):
        return value.address
    if isinstance(value, Opaque):
        return value.key
    if isinstance(value, External):
        return value.path
    if isinstance(value, (FunctionValue, BoundMethod, Partial, Wrapped)):
        return value
    return None
