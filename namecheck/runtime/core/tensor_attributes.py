"""Real tensors as abstract values: dims, dtype, device, layout and memory order."""

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


def abstract_value(value: Any) -> Any:
    """The abstract value of a tensor or a sequence of tensors; UNKNOWN for anything else."""
    if isinstance(value, torch.Tensor):
        described: Tensor = tensor_names.abstract(value, assume_unnamed=False)
        return replace(
            described,
            device=str(value.device),
            layout=tensor_names.layout_of(value),
            memory=memory_order_of(value),
        )
    if isinstance(value, (tuple, list)):
        return tuple(map(abstract_value, value))
    return UNKNOWN


def memory_order_of(tensor: torch.Tensor) -> Memory:
    """The memory order of a real tensor; UNKNOWN without strides, or with symbolic sizes."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return UNKNOWN
    if all(type(size) is int for size in tensor.shape):
        return memory_order.order_of(tensor.stride(), tensor.shape)
    return UNKNOWN


def key_of(value: Any) -> Hashable:
    """A cheap key: values with equal keys have equal abstract values."""
    if isinstance(value, torch.Tensor):
        steps = value.stride() if value.layout is torch.strided and not value.is_nested else ()
        kind = value.dtype, value.device, value.layout
        return tensor_names.names_of(value), value.shape, kind, steps
    return tuple(map(key_of, value)) if isinstance(value, (tuple, list)) else None
