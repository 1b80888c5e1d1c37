"""Devices as values: devices in source, choices between them, and queries of tensors."""

from __future__ import annotations

from collections.abc import Hashable

from namecheck.core import devices
from namecheck.core.dataclasses import replace
from namecheck.core.devices import Chosen, Device
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Constant, Tensor
from namecheck.interpreter.domain.provenance import Attribute, OperatorResult
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Alternative, Const, Key, Opaque, Union, Value


def is_device(value: Value) -> bool:
    """Whether a value is a device, or a string that names one."""
    if not isinstance(value, Const):
        return False
    if isinstance(value.value, Constant):
        return value.value.kind == "device"
    return devices.is_word(value.value)


def is_choice(value: Value) -> bool:
    """Whether a value is one of several devices."""
    return isinstance(value, Union) and all(is_device(c.value) for c in value.alternatives)


def name_of(value: Value) -> str:
    """The device in a value."""
    assert isinstance(value, Const)
    return value.value.name if isinstance(value.value, Constant) else str(value.value)


def choice_of(union: Union, store: Store) -> Constant | Chosen:
    """One of several devices in the form that `infer` takes: those that the path allows."""
    choices = [(name_of(c.value), c.facts) for c in union.alternatives if store.allows(c.facts)]
    names = dict.fromkeys(name for name, _ in choices)
    if len(names) == 1:
        return Constant("device", next(iter(names)))
    return Chosen(tuple(choices))


def resolved(tensor: Tensor, store: Store) -> Tensor:
    """A tensor on a device that the program chose, narrowed by the path facts."""
    device = tensor.device
    if not isinstance(device, Chosen):
        return tensor
    possible = tuple(each for each in device.alternatives if store.allows(each[1]))
    if len(possible) == len(device.alternatives) or not possible:
        return tensor
    names = {devices.of_tensor(name) for name, _ in possible}
    return replace(tensor, device=names.pop() if len(names) == 1 else Chosen(possible))


def answered(key: Key) -> Device:
    """The device that ``x.device`` returns, as a value."""
    question = device_query(key) if isinstance(key.provenance, OperatorResult) else None
    return UNKNOWN if question is None else question[1].device


def lowered(key: Key) -> Constant | Chosen | None:
    """The device of ``x.device`` in the form that `infer` takes; None where it is unknown."""
    device = answered(key)
    if isinstance(device, str):
        return Constant("device", device)
    return device if isinstance(device, Chosen) else None


def attribute(value: Value, name: str) -> Value | None:
    """``device.type`` and ``device.index``; None for any other value or attribute."""
    if name not in ("type", "index"):
        return None
    if isinstance(value, Const) and isinstance(value.value, Constant):
        if value.value.kind != "device":
            return None
        kind, index = devices.parted(value.value.name)
        return Const(kind if name == "type" else index)
    device = answered(value.key) if isinstance(value, Opaque) else UNKNOWN
    if name == "index":
        return None
    if isinstance(device, Chosen):
        parts = [(devices.parted(each)[0], facts) for each, facts in device.alternatives]
        return Union(tuple(Alternative(Const(kind), facts) for kind, facts in parts))
    kinds = devices.kinds(device)
    return Const(next(iter(kinds))) if kinds is not None and len(kinds) == 1 else None


def device_query(key: Key) -> tuple[Hashable, Tensor] | None:
    """The tensor whose ``x.device`` or ``x.device.type`` a value is, with its address."""
    match key.provenance:
        case Attribute(Key() as inner, "type"):
            return device_query(inner)
        case OperatorResult("device" | "Tensor.device", ((address, Tensor() as tensor),)):
            return address, tensor
    return None
