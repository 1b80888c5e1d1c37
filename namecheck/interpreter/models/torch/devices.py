"""Devices: those that programs make, the default one, and those of layers and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from namecheck.core import devices, dtypes
from namecheck.core.dataclasses import replace
from namecheck.core.devices import Device
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.tensors import Constant, Tensor
from namecheck.effects.device import requested_device
from namecheck.interpreter.domain import device_values
from namecheck.interpreter.domain.addresses import LayerTensor
from namecheck.interpreter.domain.cells import (
    DEFAULT_DEVICE,
    AttributeNames,
    ModuleAttributes,
)
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Address,
    Alternative,
    Const,
    Instance,
    Opaque,
    TensorValue,
    TorchModule,
    TupleValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation.circumstances import root
from namecheck.interpreter.evaluation.frames import Call, Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model

# The methods of a module that cast its parameters as those of a tensor do, and the arguments of
# others that may request a dtype.
_CASTS: Final = ("float", "double", "half", "bfloat16")
_CASTING: Final = ("dtype", "dst_type", "tensor")
# The attributes of a module's tensors that are noted, in the order in which its cell has them.
_ATTRIBUTES: Final = ("device", "dtype", "format")


def _is_dtype(value: Value) -> bool:
    return (
        isinstance(value, Const)
        and isinstance(value.value, Constant)
        and value.value.kind == "dtype"
    )


def _is_flag(value: Value) -> bool:
    """Whether a value is a flag, as ``non_blocking``, or a memory format."""
    if not isinstance(value, Const):
        return False
    flag = value.value
    if isinstance(flag, Constant):
        return flag.kind != "dtype"
    return flag is None or isinstance(flag, (bool, int))


# Calls that are not followed, with the name of their first parameter, a device.
_TAKING_DEVICE: Final = {
    "torch.autocast": "device_type",
    "torch.amp.autocast": "device_type",
    "torch.amp.autocast_mode.autocast": "device_type",
    "torch.Generator": "device",
}


@model("torch.device")
def device(interpreter: Interpreter, call: Call) -> Value:
    """``torch.device("cuda:1")``, ``torch.device("cuda", 1)``."""
    kind = call.argument(0, "type", call.kwargs.get("device", NONE))
    index = call.argument(1, "index")
    if isinstance(kind, Union) and device_values.is_choice(kind) and index == NONE:
        parts = [
            Alternative(Const(Constant("device", device_values.name_of(c.value))), c.facts)
            for c in kind.alternatives
        ]
        return Union(tuple(parts))
    if isinstance(kind, Const) and isinstance(kind.value, Constant):
        return kind
    if isinstance(kind, Opaque) and device_values.lowered(kind.key) is not None:
        return kind
    if isinstance(kind, Const) and isinstance(kind.value, str):
        return _of_word(interpreter, kind.value, index, call)
    return interpreter.fresh("device")


def _of_word(interpreter: Interpreter, word: str, index: Value, call: Call) -> Value:
    index_value = index.value if isinstance(index, Const) else UNKNOWN
    number = (
        index_value if isinstance(index_value, int) and not isinstance(index_value, bool) else None
    )
    wrong = devices.refusal(word)
    if wrong is None and isinstance(index_value, str):
        wrong = devices.spelt_index()
    if wrong is None and number is not None:
        wrong = devices.negative() if number < 0 else devices.twice(word)
    if wrong is not None:
        interpreter.report(wrong, call.node, call.store, call.frame)
        return interpreter.fresh("device")
    if index_value is not None and number is None:
        return interpreter.fresh("device")
    name = word if number is None else f"{word}:{number}"
    return Const(Constant("device", name))


@model("torch.set_default_device")
def set_default_device(interpreter: Interpreter, call: Call) -> Value:
    """``torch.set_default_device("cuda")``."""
    default = call.argument(0, "device")
    check_word(interpreter, default, call)
    call.store.write(DEFAULT_DEVICE, NONE, default)
    return NONE


def check_first(interpreter: Interpreter, path: str, call: Call) -> None:
    """Check a call of torch that is not followed; some of them take a device first."""
    name = _TAKING_DEVICE.get(path)
    if name is not None:
        check_word(interpreter, call.argument(0, name), call)


def check_word(interpreter: Interpreter, word: Value, call: Call) -> bool:
    """Report a string that names no device; returns whether it is one."""
    wrong = None
    if isinstance(word, Const) and isinstance(word.value, str):
        wrong = devices.refusal(word.value)
    if wrong is not None:
        interpreter.report(wrong, call.node, call.store, call.frame)
    return wrong is not None


class TorchDevices:
    """Tracks the default device, and the devices and dtypes of modules."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def default(self, fallback: Device, store: Store) -> Device:
        """The default device on this path, where the files mention one."""
        stored: Value | None = store.get(DEFAULT_DEVICE)
        return fallback if stored is None else self._lowered(stored, store)

    def enter(self, value: Value, store: Store) -> Value | None:
        """``with device:`` sets the default device; the previous one, None of other contexts."""
        if not device_values.is_device(value) and not device_values.is_choice(value):
            return None
        before: Value = store.get(DEFAULT_DEVICE, NONE)
        store.write(DEFAULT_DEVICE, NONE, value)
        return before

    def leave(self, before: Value, store: Store) -> None:
        """Restore the default device at the end of such a block."""
        store.write(DEFAULT_DEVICE, NONE, before)

    def _lowered(self, value: Value, store: Store) -> Device:
        if value == NONE:
            return devices.STANDARD_DEVICE
        return requested_device(self.interpreter.torch.lower(value, store))

    # Layers

    def on_layer(self, nn_module: TorchModule, call: Call) -> None:
        """A layer was made: its parameters are on the requested or the default device."""
        word = call.kwargs.get("device", NONE)
        check_word(self.interpreter, word, call)
        dtype = call.kwargs.get("dtype", NONE)
        if isinstance(dtype, Const) and isinstance(dtype.value, str):
            text = "empty(): argument 'dtype' must be torch.dtype, not str"
            wrong = dtypes.misspelt(dtype.value, text)
            self.interpreter.report(wrong, call.node, call.store, call.frame)
        where = word if word != NONE else self._standing(call.store)
        default = self.interpreter.torch_defaults.dtype(call.store)
        is_laid = self.interpreter.context.rows[nn_module.key].is_laid
        noted = {
            "device": where,
            "dtype": dtype if dtype != NONE else default,
            "format": Const(Constant("memory_format", "contiguous_format")) if is_laid else NONE,
        }
        self.note(noted, nn_module.address, call.store, call.frame)

    def _standing(self, store: Store) -> Value:
        device = self.interpreter.torch_defaults.at(store).device
        if isinstance(device, str):
            return Const(Constant("device", device))
        default: Value | None = store.get(DEFAULT_DEVICE)
        return self.interpreter.fresh("device") if default is None else default

    def add_tensor(self, tensor_value: TensorValue) -> None:
        """A tensor is a parameter, or a buffer."""
        self.interpreter.context.ledger.parameters.add(tensor_value.address)

    def tensors(self, module: Instance, store: Store) -> Iterator[Address]:
        """The addresses of the parameters and buffers that are attributes of a module."""
        parameters = self.interpreter.context.ledger.parameters
        attribute_names: tuple[str, ...] = store.get(AttributeNames(module.address), ())
        for name in attribute_names:
            value: Value | None = store.get((module.address, name))
            each = [c.value for c in value.alternatives] if isinstance(value, Union) else [value]
            yield from (
                tensor.address
                for tensor in each
                if isinstance(tensor, TensorValue) and tensor.address in parameters
            )

    def note(
        self, noted: Mapping[str, Value], address: Address, store: Store, frame: Frame
    ) -> None:
        """Record some attributes of a module's tensors, for the current run only.

        In a run from another entry point, the module may have been moved in between. The attributes
        are those of `_ATTRIBUTES`.
        """
        run = root(frame)
        if run is None:
            self.forget(address, store)
            return
        before = self._all_noted(address, store, frame)
        now = tuple(noted.get(key, old) for key, old in zip(_ATTRIBUTES, before, strict=True))
        store.write(ModuleAttributes(address), NONE, TupleValue((Const(run), *now)))

    def with_module_device(self, value: Value, lowered: Any, store: Store, frame: Frame) -> Any:
        """An operand; one that belongs to a module is on the device of the module."""
        if not isinstance(lowered, Tensor) or not isinstance(lowered.device, Unknown):
            return lowered
        owner = _owner(value.address) if isinstance(value, TensorValue) else None
        if isinstance(value, TensorValue) and (
            owner is not value.address or owner in self.interpreter.context.ledger.parameters
        ):
            where = self.noted("device", owner, store, frame)
            if where is not None:
                return replace(lowered, device=self._lowered(where, store))
        return lowered

    def target_device(self, name: str, call: Call) -> Value | None:
        """The device that a method of a module moves its parameters to; None where it does not."""
        if name == "cpu":
            return Const(Constant("device", devices.CPU))
        word = call.argument(0, "device")
        if name in ("cuda", "xpu") and not device_values.is_device(word):
            index = word.value if isinstance(word, Const) else UNKNOWN
            if index is UNKNOWN:
                return self.interpreter.fresh("device")
            return Const(Constant("device", name if index is None else f"{name}:{index}"))
        if check_word(self.interpreter, word, call):
            return self.interpreter.fresh("device")
        cast = isinstance(word, Const) and isinstance(word.value, Constant)
        if word == NONE or (cast and not device_values.is_device(word)):
            return None
        return word

    def target_dtype(self, name: str, call: Call) -> Value | None:
        """The dtype that a method of a module casts its parameters to; None where it does not."""
        if name in _CASTS:
            return Const(Constant("dtype", self.interpreter.context.rows[name].dtype))
        if name not in ("to", "type"):
            return None
        args = [*call.args, *(call.kwargs[word] for word in _CASTING if word in call.kwargs)]
        casts = [
            v
            for v in args
            if not (device_values.is_device(v) or device_values.is_choice(v) or _is_flag(v))
        ]
        if len(casts) == 1 and _is_dtype(casts[0]):
            return casts[0]
        return self.interpreter.fresh("dtype") if casts else None

    def on_write(self, target: Value, store: Store) -> None:
        """Another tensor is written to a layer, or to a tensor of it."""
        if isinstance(target, (TensorValue, TorchModule)):
            self.forget(_owner(target.address), store)

    def forget(self, address: Address, store: Store) -> None:
        """Make the device, dtype and order of a layer unknown."""
        if store.get(ModuleAttributes(address)) is not None:
            store.write(ModuleAttributes(address), NONE, NONE)

    def noted(self, what: str, address: Address, store: Store, frame: Frame) -> Value | None:
        """The ``device``, ``dtype`` or ``format`` of a module's tensors; None where unknown."""
        attribute = self._all_noted(address, store, frame)[_ATTRIBUTES.index(what)]
        return attribute if attribute != NONE else None

    def _all_noted(self, address: Address, store: Store, frame: Frame) -> tuple[Value, ...]:
        """What the current run has noted of each attribute; None where that is unknown."""
        match store.get(ModuleAttributes(address)):
            case TupleValue((run, *attributes)) if run == Const(root(frame)):
                return tuple(attributes)
        return (NONE,) * len(_ATTRIBUTES)


def _owner(address: Address) -> Address:
    """The layer that a tensor is a weight of, else the owner of the address."""
    return address.layer if isinstance(address, LayerTensor) else address
