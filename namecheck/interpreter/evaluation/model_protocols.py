"""Protocols of the library models, as the evaluation uses them (see `interpreter`)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from namecheck.core.devices import Device
from namecheck.core.dtypes import Defaults
from namecheck.core.findings import OperandFacts, Place
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.provenance import OperatorResult
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Address,
    Instance,
    ListValue,
    Opaque,
    Operand,
    TensorValue,
    TorchModule,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation.frames import Call, Frame
from namecheck.interpreter.evaluation.observations import Begun


class Libraries(Protocol):
    """Calls functions and classes of libraries, and applies decorators."""

    def base(self, bases: Iterable[Value]) -> str | None:
        """The first library class with a model among some bases, by its dotted name."""

    def initialise(self, instance: Instance, path: str, call: Call) -> None:
        """Run the ``__init__`` of a library class on an instance."""

    def call(self, path: str, call: Call) -> Value:
        """Call a function or class of a library."""

    def super_of(self, call_node: ast.Call, store: Store, frame: Frame) -> Value:
        """``super()``, with or without arguments."""

    def keeps_classes(self, decorator: Value) -> bool:
        """Whether it is known what a decorator makes of a class."""

    def decorate(
        self, decorator: Value, value: Value, node: Node, store: Store, frame: Frame
    ) -> Value:
        """Apply a decorator to a function or class."""

    def call_wrapped(self, wrapped: Wrapped, call: Call) -> Value:
        """Call a function under a decorator of the standard library."""


class ContainerMethods(Protocol):
    """Calls methods of strings, tuples, lists, sets and dicts."""

    def call(self, receiver: Value, name: str, call: Call) -> Value:
        """``receiver.name(…)``."""


class TorchOperators(Protocol):
    """Applies operators of the table to abstract values."""

    def call(
        self,
        operator: str,
        args: Sequence[Value],
        keyword_values: Mapping[str, Value],
        node: Node,
        store: Store,
        frame: Frame,
        operands: Sequence[Operand] = (),
        begun: Begun | None = None,
    ) -> Value:
        """Run an operator; a contradiction becomes a finding at `node`, and the result unknown."""

    def forget(
        self,
        operator: str,
        args: Sequence[Value],
        keyword_values: Mapping[str, Value],
        store: Store,
    ) -> None:
        """Make the tensors of an unknown call unknown: it may have written to them."""

    def function(self, path: str) -> str | None:
        """The operator that a function of torch runs, by its dotted name."""

    def gathered(self, operator: str, args: Sequence[Value]) -> list[Value] | None:
        """Arguments with unknown starred ones: those of a list become one unknown value."""

    def operand_facts(self, operands: Iterable[Operand], store: Store) -> tuple[OperandFacts, ...]:
        """The facts about the tensors among some operands."""

    def has(self, operator: str, forms: str) -> bool:
        """Whether the table has the operator in one of these forms."""

    def lift(
        self,
        answer: Any,
        before: Mapping[str, Place],
        node: Node,
        query: OperatorResult | None = None,
    ) -> Value:
        """A result of `infer` as a value; an unknown result is the answer to a query."""

    def lower(self, value: Value, store: Store) -> Any:
        """A value in the form that `infer` takes."""

    def method(self, name: str) -> str | None:
        """The operator that a method of a tensor runs; None where the table has none."""

    def of_tensors_only(self, name: str) -> bool:
        """Whether an unknown value that has a method of this name is a tensor."""

    def origins_of(
        self, dim_labels: Sequence[str], choices: Sequence[Value], store: Store
    ) -> tuple[Place, ...]:
        """The origins of the names that a contradiction is about, one place for each span."""

    def promote(self, opaque: Opaque, store: Store) -> TensorValue:
        """An unknown value as the tensor that it must be."""

    def replace_data(self, tensor_value: TensorValue, value: Value, store: Store) -> None:
        """``x.data = y``: x has the dims of y; its dtype, device and order become unknown."""

    def show(self, value: Value, store: Store) -> str:
        """The dims of a tensor for the reader: ``['N', 'C']``, empty where they are unknown."""

    def tensor(self, abstract: Tensor, origins: Mapping[str, Place] | None = None) -> TensorValue:
        """A new tensor."""

    def brief(self, value: Value, store: Store) -> str:
        """The names of a tensor as a short text: ``N C``, empty where they are unknown."""


class TorchNN(Protocol):
    """Modules of ``torch.nn``."""

    def attribute(self, value: Value, name: str, store: Store) -> Value | None:
        """An attribute that every module has; None where there is none of that name."""

    def havoc(self, receiver: Value, store: Store) -> None:
        """Pass a module to unknown code, which may move it."""

    def is_module(self, value: Value) -> bool:
        """Whether a value is certainly a module."""

    def kept(self, call: Call) -> Value | None:
        """The result of an unknown module that keeps the dims of its input, as its name says."""

    def run(self, layers: ListValue, call: Call) -> Value:
        """Call the layers of an ``nn.Sequential`` one after the other."""

    def on_write(self, module: Instance, name: str, value: Value, store: Store) -> None:
        """An attribute of a module was set: it may be a submodule, or a setting of its layer."""

    def on_entry(self, address: Address, name: Value, value: Value, store: Store) -> None:
        """``module._modules[name] = value``; an unknown name may be that of any submodule."""

    def settings(
        self, nn_module: TorchModule, store: Store
    ) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """The constructor's arguments of a layer, as they would be for the layer of now."""


class TorchDevices(Protocol):
    """Makes devices, and tracks the devices of modules."""

    def target_device(self, name: str, call: Call) -> Value | None:
        """The device that a method of a module moves its parameters to; None where it does not."""

    def add_tensor(self, tensor_value: TensorValue) -> None:
        """A tensor is a parameter, or a buffer."""

    def default(self, fallback: Device, store: Store) -> Device:
        """The default device on this path, where the files mention one."""

    def target_dtype(self, name: str, call: Call) -> Value | None:
        """The dtype that a method of a module casts its parameters to; None where it does not."""

    def enter(self, value: Value, store: Store) -> Value | None:
        """``with device:`` sets the default device; the previous one, None of other contexts."""

    def forget(self, address: Address, store: Store) -> None:
        """Make the device, dtype and order of a layer unknown."""

    def leave(self, before: Value, store: Store) -> None:
        """Restore the default device at the end of such a block."""

    def on_layer(self, nn_module: TorchModule, call: Call) -> None:
        """A layer was made: its parameters are on the requested or the default device."""

    def note(
        self, noted: Mapping[str, Value], address: Address, store: Store, frame: Frame
    ) -> None:
        """Record some attributes of a module's tensors, for the current run only."""

    def noted(self, what: str, address: Address, store: Store, frame: Frame) -> Value | None:
        """The ``device``, ``dtype`` or ``format`` of a module's tensors; None where unknown."""

    def tensors(self, module: Instance, store: Store) -> Iterator[Address]:
        """The addresses of the parameters and buffers that are attributes of a module."""

    def on_write(self, target: Value, store: Store) -> None:
        """Another tensor is written to a layer, or to a tensor of it."""

    def with_module_device(self, value: Value, lowered: Any, store: Store, frame: Frame) -> Any:
        """An operand; one that belongs to a module is on the device of the module."""


class TorchDefaults(Protocol):
    """Knows the default dtype and device on each path."""

    def at(self, store: Store) -> Defaults:
        """The defaults on this path, in the current file."""

    def dtype(self, store: Store) -> Value:
        """The default dtype on this path."""

    def of_module(self, value: Value, store: Store) -> Value:
        """A tensor as a parameter or a buffer: its module may change its dtype and order."""
