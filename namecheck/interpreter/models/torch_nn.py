"""Modules of ``torch.nn``: what they are made of, what hangs on them, and what their methods do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from namecheck.core.dims import Dim, Dims, new_dim
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import class_lookup, joins, merges
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Address,
    Const,
    DictValue,
    Entries,
    External,
    Held,
    Instance,
    ListValue,
    Native,
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
from namecheck.interpreter.models.registry import BaseModel, base, base_family
from namecheck.interpreter.models.standard_library.builtins import containers
from namecheck.operators import signatures

# The attribute of a module under which its submodules stand, as torch calls it.
_SUBMODULES: Final = "_modules"
# Counts how often modules were told to train or not: then `training` is another question.
_MODE: Final = ("modules", "training")
_RETURNING_WORDS: Final = "requires_grad_ share_memory"
_MOVING_WORDS: Final = "to cpu cuda xpu to_empty float double half bfloat16 type"
_SILENT_WORDS: Final = "zero_grad compile extra_repr"
_OTHER_WORDS: Final = """
register_forward_hook register_forward_pre_hook register_full_backward_hook register_backward_hook
register_full_backward_pre_hook register_load_state_dict_post_hook register_state_dict_pre_hook
state_dict get_submodule get_parameter get_buffer
"""
# Rounds in which the layers of a sequence of unknown length are followed.
_ROUNDS: Final = 3
# Layers that are made of layers.
_COMPOSED: Final = ("nn.Transformer", "nn.MultiheadAttention", "nn.AdaptiveLogSoftmaxWithLoss")


class Modules:
    """Reads the attributes of modules, and calls their methods."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._kinds: dict[Address, bool] = {}
        returning = dict.fromkeys(_RETURNING_WORDS.split(), self._itself)
        silent = dict.fromkeys(_SILENT_WORDS.split(), lambda receiver, call: NONE)
        unknown = dict.fromkeys(_OTHER_WORDS.split(), self._unknown)
        self._methods: Mapping[str, Callable[[Value, Call], Value]] = {
            **returning,
            **{word: partial(self._moved, name=word) for word in _MOVING_WORDS.split()},
            **silent,
            **unknown,
            "load_state_dict": self._load,
            "train": self._switch,
            "eval": self._switch,
            "apply": self._apply,
            "children": self._children,
            "modules": self._modules,
            "named_children": self._named_children,
            "named_modules": self._named_modules,
            "parameters": self._tensors,
            "buffers": self._tensors,
            "named_parameters": self._named_tensors,
            "named_buffers": self._named_tensors,
            "register_buffer": self._register,
            "register_parameter": self._register,
            "add_module": self._register,
            "register_module": self._register,
        }

    def is_module(self, value: Value) -> bool:
        """Whether a value is certainly a module."""
        if isinstance(value, TorchModule):
            return True
        if not isinstance(value, Instance):
            return False
        known = self._kinds.get(value.cls.address)
        if known is None:
            bases = class_lookup.mro(value.cls)
            paths = [base.path for base in bases if isinstance(base, External)]
            known = any(path.startswith("torch.nn.") or path.endswith("Module") for path in paths)
            self._kinds[value.cls.address] = known
        return known

    # Attributes

    def attribute(self, value: Value, name: str, store: Store) -> Value | None:
        """What every module has under a name; None where that is nothing."""
        if name in self._methods:
            return Native(value, name)
        if name == "__call__" or (name == "forward" and isinstance(value, TorchModule)):
            return value
        address = value.address if isinstance(value, (Instance, TorchModule)) else None
        if name == "training":
            return Opaque(("training", address, store.get(_MODE)), "bool")
        if name == _SUBMODULES and isinstance(value, Instance):
            return self._submodules(value, store)
        return self._of_layer(value, name, store) if isinstance(value, TorchModule) else None

    def _of_layer(self, module: TorchModule, name: str, store: Store) -> Value | None:
        """A tensor that a layer of torch holds, or what it was made with."""
        row = self.interpreter.context.rows[module.key]
        settings = self._settings(module, store)
        if name in row.holds:
            sizes, _, condition = row.holds[name].partition(" if ")
            if condition and settings.get(condition, UNKNOWN) is not True:
                return NONE if settings.get(condition) is False else None
            dims = Dims(tuple(_dim(word, settings) for word in sizes.split()))
            return TensorValue(("held", module.address, name), Held(Tensor(dims)))
        found = settings.get(name, UNKNOWN)
        return Const(found) if isinstance(found, (bool, int, Expression)) else None

    def _settings(self, module: TorchModule, store: Store) -> dict[str, Any]:
        """What a layer was made with, by the names of the constructor's parameters."""
        args = [self.interpreter.torch.lower(value, store) for value in module.args]
        kwargs = {name: self.interpreter.torch.lower(value, store) for name, value in module.kwargs}
        signature = signatures.parse(self.interpreter.context.rows[module.key].ctor)
        try:
            [made] = signatures.bind(module.key, [signature], args, kwargs, by_name=True)
        except (signatures.Unbound, Contradiction):
            return {}
        defaults = {p.name: p.default for p in signature if p.default is not signatures.REQUIRED}
        return {**defaults, **made.arguments}

    def _submodules(self, module: Instance, store: Store) -> DictValue:
        found: Value | None = store.get((module.address, _SUBMODULES))
        if isinstance(found, DictValue):
            return found
        return DictValue(("submodules", module.address), Entries())

    def names(self, module: Instance, store: Store) -> tuple[str, ...]:
        """The names of the submodules that are set as attributes, in order."""
        content = joins.entries(self._submodules(module, store), store)
        return tuple(name.value for name, _ in content.items if isinstance(name, Const))

    def written(self, module: Instance, name: str, value: Value, store: Store) -> None:
        """An attribute of a module was set: it may be a submodule."""
        held = self._submodules(module, store)
        content = joins.entries(held, store)
        items = dict(content.items)
        items.pop(Const(name), None)
        if self._may_be_module(value):
            items[Const(name)] = value
        if tuple(items.items()) != content.items:
            joins.write(held, store, Entries(tuple(items.items()), content.rest))

    def _may_be_module(self, value: Value) -> bool:
        if isinstance(value, Union):
            return any(self._may_be_module(choice.value) for choice in value.alternatives)
        return self.is_module(value) or (isinstance(value, Opaque) and value.kind is None)

    # Calls

    def call(self, receiver: Value, name: str, call: Call) -> Value:
        """A method of a module."""
        return self._methods[name](receiver, call)

    def run(self, layers: ListValue, call: Call) -> Value:
        """Call the layers of an ``nn.Sequential``, one on what the other gives."""
        content = joins.items(layers, call.store)
        result = call.argument(0, "input")
        if not isinstance(content, Repeated):
            for layer in content:
                result = self._invoke(layer, result, call)
            return result
        for _ in range(_ROUNDS):
            after = joins.either((result, self._invoke(content.each, result, call)), call.store)
            if merges.alike(after, call.store, result, call.store):
                return after
            result = after
        return self.interpreter.fresh("sequence")

    def _invoke(self, function: Value, argument: Value, call: Call) -> Value:
        return self.interpreter.call_values(function, [argument], call.node, call.store, call.frame)

    def _itself(self, receiver: Value, call: Call) -> Value:
        return receiver

    def _moved(self, receiver: Value, call: Call, name: str) -> Value:
        """``module.to(device)``: its parameters follow, and what it is given does not."""
        where, dtype = (
            self.interpreter.torch_devices.aim(name, call),
            self.interpreter.torch_devices.dtype_aim(name, call),
        )
        laid = call.kwargs.get("memory_format", NONE)
        if where is None and dtype is None and laid == NONE:
            return receiver
        for address in self._held(receiver, call.store):
            if where is not None:
                self.interpreter.torch_devices.move(address, where, call.store, call.frame)
            if dtype is not None:
                self.interpreter.torch_devices.cast(address, dtype, call.store, call.frame)
            if laid != NONE:
                self.interpreter.torch_devices.lay(address, laid, call.store, call.frame)
        return receiver

    def _held(self, receiver: Value, store: Store) -> Iterator[Address]:
        """The layers below a module, and the tensors that hang on it and on these."""
        for _, module in self._walk(receiver, Const(""), store):
            if isinstance(module, TorchModule):
                yield module.address
            elif isinstance(module, Instance):
                yield from list(self.interpreter.torch_devices.tensors(module, store))

    def given_away(self, receiver: Value, store: Store) -> None:
        """Unknown code has a module, and may move it."""
        if self.is_module(receiver):
            for address in self._held(receiver, store):
                self.interpreter.torch_devices.forget(address, store)

    def _load(self, receiver: Value, call: Call) -> Value:
        """``module.load_state_dict(state, assign=True)`` gives it the tensors themselves."""
        if call.argument(2, "assign", Const(False)) != Const(False):
            self.given_away(receiver, call.store)
        return NONE

    def _unknown(self, receiver: Value, call: Call) -> Value:
        self.interpreter.havoc_arguments(call)
        return self.interpreter.fresh("module")

    def _switch(self, receiver: Value, call: Call) -> Value:
        """``train`` and ``eval``: whether modules are in training is another question now."""
        call.store.set(_MODE, Const(self.interpreter.new_address()))
        return receiver

    def _apply(self, receiver: Value, call: Call) -> Value:
        """``module.apply(function)`` calls it on all modules below, then on the module."""
        pairs = self._pairs(receiver, call.store)
        below = (
            [self.interpreter.fresh("module")] if pairs is None else [value for _, value in pairs]
        )
        for module in below:
            if self.is_module(module):
                self._apply(module, call)
            else:
                self._invoke(call.argument(0, "fn"), module, call)
        self._invoke(call.argument(0, "fn"), receiver, call)
        return receiver

    def _register(self, receiver: Value, call: Call) -> Value:
        """``module.register_buffer(name, tensor)`` sets an attribute; a sequence gets a layer."""
        name = call.argument(0, "name")
        given = [*call.args[1:2], *(v for k, v in call.kwargs.items() if k != "name")]
        value = given[0] if given else self.interpreter.fresh("registered")
        layers = self._layers(receiver, call.store)
        if isinstance(layers, ListValue) and self.is_module(value):
            self._name(receiver, layers, name, call.store)
            bound = Native(layers, "append")
            self._invoke(bound, value, call)
        if isinstance(name, Const) and isinstance(name.value, str):
            value = self.interpreter.torch_defaults.of_module(value, call.store)
            self.interpreter.write_attribute(
                receiver, name.value, value, call.node, call.store, call.frame
            )
        return NONE

    # What is below a module

    def _layers(self, module: Value, store: Store) -> ListValue | DictValue | None:
        """The list or dict that a module is."""
        own = joins.inherited(module, store) if isinstance(module, Instance) else None
        return own if isinstance(own, (ListValue, DictValue)) else None

    def _name(self, module: Value, layers: ListValue, name: Value, store: Store) -> None:
        """A layer that is added to a sequence has a name of its own."""
        names = self._names(module, layers, store)
        if isinstance(module, Instance) and names is not None:
            store.set((module.address, "names of layers"), TupleValue((*names, name)))

    def name_layers(self, module: Instance, names: tuple[Value, ...], store: Store) -> None:
        """The layers of a sequence have names of their own."""
        store.set((module.address, "names of layers"), TupleValue(names))

    def _names(self, module: Value, layers: ListValue, store: Store) -> tuple[Value, ...] | None:
        content = joins.items(layers, store)
        if isinstance(content, Repeated):
            return None
        given = store.get((getattr(module, "address", None), "names of layers"))
        named = given.items if isinstance(given, TupleValue) else ()
        return (*named, *(Const(str(index)) for index in range(len(named), len(content))))

    def _pairs(self, module: Value, store: Store) -> list[tuple[Value, Value]] | None:
        """The direct submodules with their names; None where not all are known."""
        if isinstance(module, TorchModule):
            return None if module.key.startswith(_COMPOSED) else []
        if not isinstance(module, Instance):
            return None
        content = joins.entries(self._submodules(module, store), store)
        layers = self._layers(module, store)
        pairs = list(content.items)
        if isinstance(layers, DictValue):
            entries = joins.entries(layers, store)
            content = Entries(content.items, content.rest or entries.rest)
            pairs += entries.items
        elif isinstance(layers, ListValue):
            listed, names = joins.items(layers, store), self._names(module, layers, store)
            if isinstance(listed, Repeated) or names is None:
                return None
            pairs = [p for p in pairs if p[1] not in listed] + list(
                zip(names, listed, strict=False)
            )
        known = content.rest is None and all(self.is_module(value) for _, value in pairs)
        return pairs if known else None

    def _walk(
        self, module: Value, name: Value, store: Store
    ) -> Iterator[tuple[Value, Value | None]]:
        """A module and all below it, with their names; None where there may be others."""
        yield name, module
        pairs = self._pairs(module, store)
        if pairs is None:
            yield name, None
            return
        for inner, value in pairs:
            yield from self._walk(value, _dotted(name, inner), store)

    def _children(self, receiver: Value, call: Call) -> Value:
        pairs = self._pairs(receiver, call.store)
        return self._listed(None if pairs is None else [value for _, value in pairs])

    def _named_children(self, receiver: Value, call: Call) -> Value:
        pairs = self._pairs(receiver, call.store)
        return self._listed(None if pairs is None else [TupleValue(pair) for pair in pairs])

    def _modules(self, receiver: Value, call: Call) -> Value:
        walked = [value for _, value in self._walk(receiver, Const(""), call.store)]
        known = [value for value in walked if value is not None]
        return self._listed(known if len(known) == len(walked) else None)

    def _named_modules(self, receiver: Value, call: Call) -> Value:
        walked = list(self._walk(receiver, Const(""), call.store))
        known = [TupleValue((name, value)) for name, value in walked if value is not None]
        return self._listed(known if len(known) == len(walked) else None)

    def _listed(self, items: list[Value] | list[TupleValue] | None) -> Value:
        if items is None:
            return Repeated(self.interpreter.fresh("module"))
        return ListValue(self.interpreter.new_address(), tuple(items), "iterator")

    def _tensor(self) -> TensorValue:
        """A parameter or a buffer, of which nothing is known: it may be any."""
        return TensorValue(("held", self.interpreter.new_address()), Held(Tensor()))

    def _tensors(self, receiver: Value, call: Call) -> Value:
        return Repeated(self._tensor())

    def _named_tensors(self, receiver: Value, call: Call) -> Value:
        return Repeated(TupleValue((self.interpreter.fresh("name", "str"), self._tensor())))


def _dim(word: str, settings: Mapping[str, Any]) -> Dim:
    size = settings.get(word, UNKNOWN)
    return new_dim(size if isinstance(size, (int, Expression)) else UNKNOWN)


def _dotted(name: Value, inner: Value) -> Value:
    if isinstance(name, Const) and isinstance(inner, Const):
        return Const(f"{name.value}.{inner.value}".lstrip("."))
    return Opaque(("dotted", name, inner), "str")


# Classes of the program that derive from them


@base("torch.nn.ModuleList", "torch.nn.ParameterList")
def list_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Blocks(nn.ModuleList)`` makes lists of layers, too."""
    return containers.list_(interpreter, call)


@base("torch.nn.ModuleDict", "torch.nn.ParameterDict")
def dict_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Heads(nn.ModuleDict)`` makes dicts of layers, too."""
    return containers.dict_(interpreter, call)


@base("torch.nn.Sequential")
def sequential_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Head(nn.Sequential)``: the layers, given one by one or under names."""
    address = interpreter.new_address()
    if len(call.args) == 1 and isinstance(call.args[0], DictValue):
        entries = joins.entries(call.args[0], call.store)
        if entries.rest is None:
            names = tuple(name for name, _ in entries.items)
            interpreter.torch_nn.name_layers(instance, names, call.store)
            for name, layer in entries.items:
                attribute = getattr(name, "value", None)
                call.store.set((instance.address, attribute), layer)
            return ListValue(address, tuple(layer for _, layer in entries.items), "sequence")
    return ListValue(address, call.arguments.items(call.store), "sequence")


@base("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel")
def parallel_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``nn.DataParallel(module)`` does what the module does."""
    module = call.argument(0, "module")
    call.store.set((instance.address, "module"), module)
    return module


@base_family("torch")
def layer_base(interpreter: Interpreter, path: str) -> BaseModel | None:
    """``class Projection(nn.Linear)``: a layer of the table."""
    key = path.removeprefix("torch.")
    if not key.startswith("nn.") or not interpreter.torch.has(key, "c"):
        return None

    def layer(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
        words = tuple(call.kwargs.items())
        return TorchModule(interpreter.new_address(), key, tuple(call.args), words, call.node)

    return layer
