"""Classes of the program that derive from classes of libraries: lists, dicts, layers of torch.

``class Head(nn.Sequential)`` makes instances that are sequences of layers too. What they are so
stands in the store under the instance, and does what the class itself does not do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import (
    ClassValue,
    DictValue,
    External,
    Instance,
    ListValue,
    TorchModule,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.builtin_functions import BuiltinFunctions

_LISTS: Final = frozenset(
    {
        "builtins.list",
        "builtins.set",
        "collections.deque",
        "collections.UserList",
        "torch.nn.ModuleList",
        "torch.nn.ParameterList",
    }
)
_DICTS: Final = frozenset(
    {
        "builtins.dict",
        "collections.OrderedDict",
        "collections.UserDict",
        "torch.nn.ModuleDict",
        "torch.nn.ParameterDict",
    }
)
_SEQUENTIAL: Final = "torch.nn.Sequential"
_PARALLEL: Final = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"})
_TORCH: Final = "torch."


class Inheritance:
    """Makes instances what the classes of libraries make of them."""

    def __init__(self, interpreter: Interpreter, builtins: BuiltinFunctions) -> None:
        self.interpreter = interpreter
        self._builtins = builtins

    def makes(self, path: str) -> bool:
        """Whether it is known what a class of a library makes."""
        if path in _LISTS or path in _DICTS or path in _PARALLEL or path == _SEQUENTIAL:
            return True
        key = path.removeprefix(_TORCH)
        return key.startswith("nn.") and self.interpreter.torch.has(key, "c")

    def instance(self, path: str, call: Call) -> Value:
        """Call a class of torch that makes a container of layers or parameters."""
        cls = ClassValue(path, path.rpartition(".")[2], (External(path),))
        made = Instance(self.interpreter.new_address(), cls)
        self.initialise(made, path, call)
        return made

    def base(self, bases: Iterable[Value]) -> str | None:
        """The class of a library among some bases that is known, by its dotted name."""
        for base in bases:
            if isinstance(base, External) and self.makes(base.path):
                return base.path
        return None

    def initialise(self, instance: Instance, path: str, call: Call) -> None:
        """What the ``__init__`` of a class of a library does to an instance."""
        made = self._make(instance, path, call)
        if made is not None:
            joins.inherit(instance, made, call.store)
            if path.startswith("collections.User"):
                call.store.set((instance.address, "data"), made)

    def _make(self, instance: Instance, path: str, call: Call) -> Value | None:
        if path == _SEQUENTIAL:
            return self._sequence(instance, call)
        if path in _PARALLEL:
            module = call.argument(0, "module")
            call.store.set((instance.address, "module"), module)
            return module
        if path in _LISTS:
            made = self._builtins.set_(call) if path.endswith("set") else self._builtins.list_(call)
            return made if isinstance(made, ListValue) else None
        if path in _DICTS:
            return self._builtins.dict_(call)
        key = path.removeprefix(_TORCH)
        return TorchModule(
            self.interpreter.new_address(),
            key,
            tuple(call.args),
            tuple(call.kwargs.items()),
            call.node,
        )

    def _sequence(self, instance: Instance, call: Call) -> Value:
        """The layers of an ``nn.Sequential``, given one by one or under names."""
        address = self.interpreter.new_address()
        if len(call.args) == 1 and isinstance(call.args[0], DictValue):
            entries = joins.entries(call.args[0], call.store)
            if entries.rest is None:
                modules = self.interpreter.torch_nn
                modules.name_layers(instance, tuple(name for name, _ in entries.items), call.store)
                for name, layer in entries.items:
                    attribute = getattr(name, "value", None)
                    call.store.set((instance.address, attribute), layer)
                return ListValue(address, tuple(layer for _, layer in entries.items), "sequence")
        content = call.arguments.items(call.store)
        return ListValue(address, content, "sequence")
