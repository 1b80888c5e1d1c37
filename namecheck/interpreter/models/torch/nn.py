"""Modules of ``torch.nn``: which values are modules, their attributes, and derived classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from namecheck.core.dims import Dim, Dims, new_dim
from namecheck.core.names import UNKNOWN, Answer, Contradiction
from namecheck.core.parameters import REQUIRED
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.effects import conditions
from namecheck.effects.words import read_sizes
from namecheck.interpreter.domain import class_lookup, joins, merges
from namecheck.interpreter.domain.addresses import LayerTensor
from namecheck.interpreter.domain.cells import TRAINING_MODE, AttributeNames
from namecheck.interpreter.domain.provenance import Training
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Address,
    BuiltinMethod,
    Const,
    DictValue,
    Entries,
    External,
    Held,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TorchModule,
    Union,
    Value,
    sized,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives, registry
from namecheck.interpreter.models.registry import BaseModel, base, base_family
from namecheck.interpreter.models.standard_library.builtins import containers
from namecheck.interpreter.models.torch import submodules
from namecheck.operators import signatures

# How many rounds the layers of a sequence of unknown length are followed.
_ROUNDS: Final = 3
# How many submodules are looked through when one is added.
_FEW: Final = 64


class TorchNN:
    """Reads and writes the attributes of modules, and calls their layers."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._kinds: dict[Address, bool] = {}

    def is_module(self, value: Value) -> bool:
        """Whether a value is certainly a module."""
        if isinstance(value, TorchModule):
            return True
        if not isinstance(value, Instance):
            return False
        answer = self._kinds.get(value.cls.address)
        if answer is None:
            bases = class_lookup.mro(value.cls)
            paths = [each.path for each in bases if isinstance(each, External)]
            answer = any(path.startswith("torch.nn.") or path.endswith("Module") for path in paths)
            self._kinds[value.cls.address] = answer
        return answer

    def attribute(self, value: Value, name: str, store: Store) -> Value | None:
        """An attribute that every module has; None where there is none of that name."""
        if (TorchModule, name) in registry.METHODS:
            return BuiltinMethod(value, name)
        if name == "__call__" or (name == "forward" and isinstance(value, TorchModule)):
            return value
        address = value.address if isinstance(value, (Instance, TorchModule)) else None
        if name == "training":
            return Opaque(Training(address, store.get(TRAINING_MODE)), "bool")
        if name == submodules.ATTRIBUTE and isinstance(value, Instance):
            return submodules.by_attribute(value, store)
        return self._of_layer(value, name, store) if isinstance(value, TorchModule) else None

    def _of_layer(self, nn_module: TorchModule, name: str, store: Store) -> Value | None:
        """A tensor of a torch layer, or an argument of its constructor."""
        row = self.interpreter.context.rows[nn_module.key]
        settings = self._settings(nn_module, store)
        if name in row.holds:
            cell = read_sizes(row.holds[name])
            if cell.condition is not None:
                arguments = {**dict.fromkeys(cell.condition.parameters, UNKNOWN), **settings}
                present = conditions.answer(cell.condition, arguments)
                if present is not Answer.YES:
                    return NONE if present is Answer.NO else None
            dims = Dims(tuple(_dim(word, settings) for word in cell.sizes))
            return TensorValue(LayerTensor(nn_module.address, name), Held(Tensor(dims)))
        setting = settings.get(name, UNKNOWN)
        if isinstance(setting, bool):
            return Const(setting)
        return sized(setting) if isinstance(setting, (int, Expression)) else None

    def _settings(self, nn_module: TorchModule, store: Store) -> dict[str, Any]:
        """The constructor's arguments of a layer, by parameter."""
        lower = self.interpreter.torch.lower
        args = [lower(value, store) for value in nn_module.args]
        kwargs = {name: lower(value, store) for name, value in nn_module.kwargs}
        signature = self.interpreter.context.rows[nn_module.key].constructor
        try:
            [made] = signatures.bind(nn_module.key, [signature], args, kwargs, by_name=True)
        except (signatures.Unbound, Contradiction):
            return {}
        defaults = {p.name: p.default for p in signature if p.default is not REQUIRED}
        return {**defaults, **made.arguments}

    def settings(
        self, nn_module: TorchModule, store: Store
    ) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """The constructor's arguments of a layer, as they would be for the layer of now."""
        if not store.get(AttributeNames(nn_module.address), ()):
            return nn_module.args, dict(nn_module.kwargs)
        from namecheck.interpreter.models import layer_settings  # few are changed

        return layer_settings.current(self.interpreter, nn_module, store)

    def on_write(self, module: Instance, name: str, value: Value, store: Store) -> None:
        """An attribute of a module was set: it may be a submodule, or a setting of its layer."""
        layer = joins.inherited(module, store)
        if isinstance(layer, TorchModule):
            from namecheck.interpreter.models import layer_settings  # few classes derive

            layer_settings.pass_on(self.interpreter, module, layer, name, value, store)
        submodules.replace_layer(module.address, layer, Const(name), value, store)
        below = submodules.by_attribute(module, store)
        entries = joins.entries(below, store)
        if len(entries.items) > _FEW and store.get((module.address, name)) is None:
            # Many are not looked through: none has the name of an attribute that is not there.
            store.ledger.meter.spend(len(entries.items) >> 3)
            if self._may_be_module(value):
                added = (*entries.items, (Const(name), value))
                joins.write(below, store, Entries(added, entries.rest))
            return
        store.ledger.meter.spend(len(entries.items) >> 2)
        items = dict(entries.items)
        items.pop(Const(name), None)
        if self._may_be_module(value):
            items[Const(name)] = value
        if tuple(items.items()) != entries.items:
            joins.write(below, store, Entries(tuple(items.items()), entries.rest))

    def on_entry(self, address: Address, name: Value, value: Value, store: Store) -> None:
        """``module._modules[name] = value``; an unknown name may be that of any submodule."""
        if isinstance(name, Const):
            store.write((address, name.value), value, value)
        else:
            for each in store.get(AttributeNames(address), ()):
                if self._may_be_module(store.get((address, each), NONE)):
                    store.set((address, each), self.interpreter.fresh("written"))
        library_part: Value | None = store.get((address, joins.INHERITED))
        submodules.replace_layer(address, library_part, name, value, store)

    def _may_be_module(self, value: Value) -> bool:
        if isinstance(value, Union):
            return any(self._may_be_module(choice.value) for choice in value.alternatives)
        return self.is_module(value) or (isinstance(value, Opaque) and value.kind is None)

    def run(self, layers: ListValue, call: Call) -> Value:
        """Call the layers of an ``nn.Sequential`` one after the other."""
        content = joins.items(layers, call.store)
        result = call.argument(0, "input")
        if not isinstance(content, Repeated):
            judged = self.interpreter.findings.judged
            for position, layer in enumerate(content):
                with judged.stage(position):
                    result = primitives.invoke(self.interpreter, layer, [result], call)
            return result
        for _ in range(_ROUNDS):
            once_more = primitives.invoke(self.interpreter, content.each, [result], call)
            either = joins.either((result, once_more), call.store)
            if merges.alike(either, call.store, result, call.store):
                return either
            result = either
        return self.interpreter.fresh("sequence")

    def kept(self, call: Call) -> Value | None:
        """The result of an unknown module that keeps the dims of its input, as its name says."""
        if not self.interpreter.context.evidence.is_observed:
            return None
        from namecheck.interpreter.models import observed_modules  # only where asked for

        return observed_modules.kept(self.interpreter, call)

    def havoc(self, receiver: Value, store: Store) -> None:
        """Pass a module to unknown code, which may move it."""
        if self.is_module(receiver):
            for address in submodules.addresses(self.interpreter, receiver, store):
                self.interpreter.torch_devices.forget(address, store)


def _dim(word: str, settings: Mapping[str, Any]) -> Dim:
    size = settings.get(word, UNKNOWN)
    return new_dim(size if isinstance(size, (int, Expression)) else UNKNOWN)


# Classes of the program that derive from modules


@base("torch.nn.ModuleList", "torch.nn.ParameterList")
def list_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Blocks(nn.ModuleList)``: instances are lists of layers, too."""
    return containers.list_(interpreter, call)


@base("torch.nn.ModuleDict", "torch.nn.ParameterDict")
def dict_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Heads(nn.ModuleDict)``: instances are dicts of layers, too."""
    return containers.dict_(interpreter, call)


@base("torch.nn.Sequential")
def sequential_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Head(nn.Sequential)``: the layers, passed one by one or under names."""
    address = interpreter.new_address()
    if len(call.args) == 1 and isinstance(call.args[0], DictValue):
        entries = joins.entries(call.args[0], call.store)
        if entries.rest is None:
            names = tuple(name for name, _ in entries.items)
            submodules.name_layers(instance, names, call.store)
            for name, layer in entries.items:
                attribute = getattr(name, "value", None)
                call.store.set((instance.address, attribute), layer)
            return ListValue(address, tuple(layer for _, layer in entries.items), "sequence")
    return ListValue(address, call.arguments.items(call.store), "sequence")


@base("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel")
def parallel_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``nn.DataParallel(module)`` behaves like the module."""
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
