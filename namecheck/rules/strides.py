"""The order in memory of views whose strides the call tells: windows, diagonals, what is asked for.

Held against torch 2.13 by tests/runtime/test_memory.py, through `namecheck.operators.infer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from namecheck import memory
from namecheck.memory import Memory
from namecheck.names import UNKNOWN, Unknown
from namecheck.values import Dims, Tensor, locate


def of_windows(tensor: Tensor, dims: Dims, arguments: Mapping[str, Any]) -> Memory:
    """Windows of a dim that start at a distance, side by side as a last dim (Tensor.unfold)."""
    steps, place = _steps(tensor), locate(tensor.dims, arguments.get("dimension"))
    distance = arguments.get("step")
    if steps is None or not isinstance(place, int) or type(distance) is not int:
        return UNKNOWN
    steps.append(steps[place])
    steps[place] = memory.times(steps[place], distance)
    return memory.laid(steps, dims.sizes)


def of_diagonals(tensor: Tensor, dims: Dims, arguments: Mapping[str, Any]) -> Memory:
    """Along a diagonal one goes on in two dims at once (torch.diagonal)."""
    steps = _steps(tensor)
    one = locate(tensor.dims, arguments.get("dim1", 0))
    other = locate(tensor.dims, arguments.get("dim2", 1))
    if steps is None or not isinstance(one, int) or not isinstance(other, int):
        return UNKNOWN
    left = [step for place, step in enumerate(steps) if place not in (one, other)]
    return memory.laid([*left, memory.plus(steps[one], steps[other])], dims.sizes)


def as_asked(tensor: Tensor, dims: Dims, arguments: Mapping[str, Any]) -> Memory:
    """The strides are given (torch.as_strided)."""
    given = arguments.get("stride")
    if not isinstance(given, (tuple, list)) or len(given) != len(dims.sizes):
        return UNKNOWN
    return memory.laid(given, dims.sizes)


def _steps(tensor: Tensor) -> list[memory.Size] | None:
    if isinstance(tensor.memory, Unknown) or tensor.dims.open:
        return None
    return list(memory.strides(tensor.memory, tensor.dims.sizes))
