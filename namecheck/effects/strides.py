"""The memory order of views with computed strides: windows, diagonals, indices.

tests/runtime/test_memory.py compares them with torch 2.13, through `namecheck.operators.infer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from namecheck.core import dtypes, memory_order
from namecheck.core.dims import Dims, Size, locate
from namecheck.core.memory_order import CONTIGUOUS, Memory
from namecheck.core.names import UNKNOWN, Answer, Unknown
from namecheck.core.tensors import Tensor


def of_windows(tensor: Tensor, dims: Dims, arguments: Mapping[str, Any]) -> Memory:
    """Windows along a dim, with a step between their starts, as a new last dim (Tensor.unfold)."""
    steps, place = _steps(tensor), locate(tensor.dims, arguments.get("dimension"))
    distance = arguments.get("step")
    if not steps or not isinstance(place, int) or type(distance) is not int:
        return UNKNOWN
    steps.append(steps[place])
    steps[place] = memory_order.times(steps[place], distance)
    return memory_order.laid(steps, dims.sizes)


def of_diagonals(tensor: Tensor, dims: Dims, arguments: Mapping[str, Any]) -> Memory:
    """A diagonal steps along two dims at once (torch.diagonal)."""
    steps = _steps(tensor)
    one = locate(tensor.dims, arguments.get("dim1", 0))
    other = locate(tensor.dims, arguments.get("dim2", 1))
    if steps is None or not isinstance(one, int) or not isinstance(other, int):
        return UNKNOWN
    left = [step for place, step in enumerate(steps) if place not in (one, other)]
    return memory_order.laid([*left, memory_order.plus(steps[one], steps[other])], dims.sizes)


def as_asked(tensor: Tensor, dims: Dims, arguments: Mapping[str, Any]) -> Memory:
    """The strides are arguments (torch.as_strided)."""
    request = arguments.get("stride")
    if not isinstance(request, (tuple, list)) or len(request) != len(dims.sizes):
        return UNKNOWN
    return memory_order.laid(request, dims.sizes)


def of_index(tensor: Tensor, dims: Dims, arguments: Mapping[str, Any]) -> Memory:
    """Ints remove a dim, slices cut it, None inserts a new one; other indices make a copy.

    A tensor of an integral dtype without dims is an int to torch (applySlicing).
    """
    index = arguments.get("index")
    sources: list[int | None] = []
    cut: dict[int, Size] = {}
    place = 0
    parts = list(index) if isinstance(index, tuple) else [index]
    taken = sum(part is not None and part is not ... for part in parts)
    for part in [*parts, *([] if any(part is ... for part in parts) else [...])]:
        if part is None:
            sources.append(None)
            continue
        if part is ...:
            until = place + len(tensor.dims.prefix) - taken
            sources += range(place, until)
            place = until
            continue
        if isinstance(part, slice):
            sources.append(place)
            step = 1 if part.step is None else part.step
            if step != 1 or (part.start, part.stop) not in ((None, None), (0, None)):
                cut[place] = step if type(step) is int else UNKNOWN
        elif type(part) is not int and (is_int := _is_int(part)) is not Answer.YES:
            return UNKNOWN if is_int is Answer.MAYBE else _gathered(tensor, parts)
        place += 1
    if place != len(tensor.dims.prefix):
        return UNKNOWN
    return memory_order.moved(tensor.memory, sources, tensor.dims.sizes, dims.sizes, cut)


def _is_int(index: Any) -> Answer:
    """Whether an index is a tensor that torch takes for an int: 0-d, and no mask."""
    if not isinstance(index, Tensor) or index.dims.min_rank > 0:
        return Answer.NO
    is_mask = dtypes.is_among(index.dtype, dtypes.MASKS)
    if is_mask is Answer.YES:
        return Answer.NO
    return Answer.MAYBE if index.dims.open or is_mask is Answer.MAYBE else Answer.YES


def _gathered(tensor: Tensor, index_parts: list[Any]) -> Memory:
    """The elements at some indices, of a contiguous tensor without dims of size 1."""
    plain = all(
        part is ...
        or isinstance(part, (int, slice, list))
        or (isinstance(part, Tensor) and (part.memory == CONTIGUOUS or part.dims.rank == 1))
        for part in index_parts
    )
    several = all(size != 1 and not isinstance(size, Unknown) for size in tensor.dims.sizes)
    return CONTIGUOUS if plain and several and tensor.memory == CONTIGUOUS else UNKNOWN


def _steps(tensor: Tensor) -> list[Size] | None:
    if isinstance(tensor.memory, Unknown) or tensor.dims.open:
        return None
    return list(memory_order.strides(tensor.memory, tensor.dims.sizes))
