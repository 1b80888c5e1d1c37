"""What the evaluation asks of the models of libraries, as protocols (see `interpreter`)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from namecheck.core.devices import Device
from namecheck.core.dtypes import Defaults
from namecheck.core.findings import Given, Place
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
        """The class of a library among some bases that has a model, by its dotted name."""

    def initialise(self, instance: Instance, path: str, call: Call) -> None:
        """What the ``__init__`` of a class of a library does to an instance."""

    def call(self, path: str, call: Call) -> Value:
        """Call a function or class of a library."""

    def super_of(self, call_node: ast.Call, store: Store, frame: Frame) -> Value:
        """``super()``, with or without arguments."""

    def decorate(
        self, decorator: Value, value: Value, node: Node, store: Store, frame: Frame
    ) -> Value:
        """What a decorator makes of a function or class."""

    def call_wrapped(self, wrapped: Wrapped, call: Call) -> Value:
        """Call what a decorator of the standard library made."""


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
        """A call of which nothing is known may have written to its tensors."""

    def function(self, path: str) -> str | None:
        """The operator that a function of torch runs, by its dotted name."""

    def gathered(self, operator: str, args: Sequence[Value]) -> list[Value] | None:
        """Arguments to which a star adds unknown ones: those of a list become one unknown value."""

    def given(self, operands: Iterable[Operand], store: Store) -> tuple[Given, ...]:
        """What is known of the tensors among some operands."""

    def has(self, operator: str, forms: str) -> bool:
        """Whether the table has the operator in one of these forms."""

    def lift(
        self,
        answer: Any,
        before: Mapping[str, Place],
        node: Node,
        query: OperatorResult | None = None,
    ) -> Value:
        """What `infer` answered, as a value; what it left unknown is the answer to a query."""

    def lower(self, value: Value, store: Store) -> Any:
        """A value as `infer` takes it."""

    def method(self, name: str) -> str | None:
        """The operator that a method of a tensor runs; None where the table has none."""

    def of_tensors_only(self, name: str) -> bool:
        """Whether an unknown value that has a method of this name is a tensor."""

    def origins_of(
        self, dim_labels: Sequence[str], choices: Sequence[Value], store: Store
    ) -> tuple[Place, ...]:
        """Where the names that a contradiction is about came from, one place for each span."""

    def promote(self, opaque: Opaque, store: Store) -> TensorValue:
        """An unknown value, seen as the tensor that it must be."""

    def replace_data(self, tensor_value: TensorValue, store: Store) -> None:
        """``x.data = y``: of what x is made now, and where, nothing is known."""

    def show(self, value: Value, store: Store) -> str:
        """The dims of a tensor for the reader: ``['N', 'C']``, empty where nothing is known."""

    def tensor(self, known: Tensor, origins: Mapping[str, Place] | None = None) -> TensorValue:
        """A new tensor."""

    def brief(self, value: Value, store: Store) -> str:
        """The names of a tensor in few words: ``N C``, empty where nothing is known."""


class TorchNN(Protocol):
    """Modules of ``torch.nn``."""

    def attribute(self, value: Value, name: str, store: Store) -> Value | None:
        """What every module has under a name; None where that is nothing."""

    def havoc(self, receiver: Value, store: Store) -> None:
        """Unknown code has a module, and may move it."""

    def is_module(self, value: Value) -> bool:
        """Whether a value is certainly a module."""

    def run(self, layers: ListValue, call: Call) -> Value:
        """Call the layers of an ``nn.Sequential``, one on what the other gives."""

    def written(self, module: Instance, name: str, value: Value, store: Store) -> None:
        """An attribute of a module was set: it may be a submodule."""


class TorchDevices(Protocol):
    """Makes devices, and remembers what is made on which."""

    def target_device(self, name: str, call: Call) -> Value | None:
        """Where a method of a module moves its parameters; None where it does not."""

    def add_tensor(self, tensor_value: TensorValue) -> None:
        """A tensor is a parameter, or a buffer."""

    def cast(self, address: Address, dtype: Value, store: Store, frame: Frame) -> None:
        """The parameters of a layer are of this dtype now."""

    def default(self, fallback: Device, store: Store) -> Device:
        """The default device on this path, where the files speak of one."""

    def target_dtype(self, name: str, call: Call) -> Value | None:
        """What a method of a module casts its parameters to; None where it does not."""

    def enter(self, value: Value, store: Store) -> Value | None:
        """``with device:`` sets the default device; what it was before, None of other contexts."""

    def forget(self, address: Address, store: Store) -> None:
        """Nothing is known any more of where a layer is, nor of what dtype or order."""

    def lay(self, address: Address, memory_format: Value, store: Store, frame: Frame) -> None:
        """The weights of a layer are of this memory format now."""

    def leave(self, before: Value, store: Store) -> None:
        """The end of such a block."""

    def on_layer(self, nn_module: TorchModule, call: Call) -> None:
        """A layer is made: its parameters are on the device that is asked for, or the default."""

    def move(self, address: Address, device_value: Value, store: Store, frame: Frame) -> None:
        """The parameters of a layer, or the tensor of a module, are on this device now."""

    def noted(self, what: str, address: Address, store: Store, frame: Frame) -> Value | None:
        """The ``device``, ``dtype`` or ``format`` of what a module holds; None if not known."""

    def tensors(self, module: Instance, store: Store) -> Iterator[Address]:
        """The addresses of the parameters and buffers that are attributes of a module."""

    def on_write(self, target: Value, store: Store) -> None:
        """A layer, or a tensor that it holds, is given another tensor."""

    def with_module_device(self, value: Value, lowered: Any, store: Store, frame: Frame) -> Any:
        """An operand; what belongs to a module is where the module was moved to."""


class TorchDefaults(Protocol):
    """Knows the default dtype and device on each path."""

    def at(self, store: Store) -> Defaults:
        """The defaults on this path, in the code that is being run."""

    def dtype(self, store: Store) -> Value:
        """The default dtype on this path."""

    def of_module(self, value: Value, store: Store) -> Value:
        """A tensor as a parameter or a buffer: its module may be cast, and laid out otherwise."""
