"""All that can be seen of a real tensor, as the rules tell of it: dims, dtype, place, order."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import torch

from namecheck.core import memory_order
from namecheck.core.memory_order import Memory
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.runtime.core import tensor_names


def described(value: Any) -> Any:
    """The tensors in a real value; UNKNOWN for whatever else is in it."""
    if isinstance(value, torch.Tensor):
        known: Tensor = tensor_names.abstract(value, said=False)
        return replace(
            known, device=str(value.device), layout=layout_of(value), memory=order_of(value)
        )
    if isinstance(value, (tuple, list)):
        return tuple(map(described, value))
    return UNKNOWN


def order_of(tensor: torch.Tensor) -> Memory:
    """The order in which a real tensor lies in memory; unknown of one that has no strides."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return UNKNOWN
    if all(type(size) is int for size in tensor.shape):
        return memory_order.order_of(tensor.stride(), tensor.shape)
    return UNKNOWN


def layout_of(tensor: torch.Tensor) -> str:
    """The layout of a real tensor: ``strided``."""
    return str(tensor.layout).removeprefix("torch.")


def key_of(value: Any) -> Hashable:
    """What of a value tells it from others: a description takes longer to make."""
    if isinstance(value, torch.Tensor):
        steps = value.stride() if value.layout is torch.strided and not value.is_nested else ()
        kind = value.dtype, value.device, value.layout
        return tensor_names.names_of(value), value.shape, kind, steps
    return tuple(map(key_of, value)) if isinstance(value, (tuple, list)) else None
