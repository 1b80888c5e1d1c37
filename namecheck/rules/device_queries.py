"""Operators that ask where a tensor is (tensor_attributes.rst, torch.device)."""

from __future__ import annotations

from typing import Any

from namecheck.core import devices
from namecheck.core.devices import CPU
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.tensors import Constant, Tensor
from namecheck.rules.registry import rule


@rule(patched=False)
def device_of(obj: Any) -> Constant | Unknown:
    """The device of a tensor, with its index (torch.Tensor.device); unknown of other values."""
    device = obj.device if isinstance(obj, Tensor) else UNKNOWN
    if isinstance(device, str) and devices.is_whole(device):
        return Constant("device", device)
    return UNKNOWN


@rule(patched=False)
def is_on_cuda(input: Tensor) -> bool | Unknown:
    """Whether a tensor is on a CUDA device (torch.Tensor.is_cuda)."""
    return _is_of(input, "cuda")


@rule(patched=False)
def is_on_meta(input: Tensor) -> bool | Unknown:
    """Whether a tensor has no data (torch.Tensor.is_meta)."""
    return _is_of(input, "meta")


@rule(patched=False)
def index_of_device(input: Tensor) -> int | Unknown:
    """The index of the device, -1 of the CPU (torch.Tensor.get_device)."""
    device = input.device
    if not isinstance(device, str):
        return UNKNOWN
    _, index = devices.parted(device)
    return -1 if device == CPU else UNKNOWN if index is None else index


def _is_of(tensor: Tensor, kind: str) -> bool | Unknown:
    kinds = devices.kinds(tensor.device)
    return UNKNOWN if kinds is None or len(kinds) > 1 else kinds == {kind}
