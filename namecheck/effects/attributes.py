"""What a result is beside its dims: its dtype, and where and how it lies in memory.

One call for all attributes that a tensor has; what the row of an operator tells of each stands in
its own module. Names and sizes speak first: `namecheck.operators.infer` asks for these again where
an attribute contradicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from namecheck.core.dtypes import Around
from namecheck.core.tensors import Many, Tensor
from namecheck.effects import device as devices
from namecheck.effects import dtype as dtypes
from namecheck.effects import layout as layouts
from namecheck.effects import memory_order, overlap


@dataclass(frozen=True, slots=True)
class Telling:
    """What the row of an operator tells of attributes, for one overload.

    `apart` tells that what is written to must not overlap itself.
    """

    typing: dtypes.Typing
    placing: devices.Placing
    order: memory_order.Ordering
    keeping: layouts.Keeping
    apart: bool


def told(
    answer: Any,
    row: Telling,
    arguments: Mapping[str, Any],
    around: Around | None,
    target: Any = None,
) -> Any:
    """A result with its attributes; raises `Contradiction` where torch refuses those given.

    Where `around` is None nothing is asked of attributes, and nothing is told of them.
    `target` is the tensor that is written to, in place or as ``out=``, if there is one.
    """
    if around is None:
        return answer
    if target is not None and row.apart:
        overlap.check(answer, target)
    dtype = dtypes.of_result(answer, row.typing, arguments, around, target)
    device = devices.of_result(row.placing, arguments, around, target)
    layout = layouts.of_result(row.keeping, arguments, written=target is not None)
    order = memory_order.of_result(answer, row.order, arguments)
    return _made(answer, dtype, device, layout, order)


def _made(answer: Any, *told: Any) -> Any:
    """A result with all its attributes; those of several results are alike, or in a list."""
    if isinstance(answer, Tensor):
        return Tensor(answer.dims, *told)
    if isinstance(answer, Many):
        return Many(_made(answer.each, *told))
    if isinstance(answer, (tuple, list)):
        each = (one if isinstance(one, list) else repeat(one) for one in told)
        return type(answer)(map(_made, answer, *each))
    return answer


def kept(result: Tensor, target: Tensor, *, moved: bool = False) -> Tensor:
    """A result that is written to a tensor: it has the elements, and the place, of that tensor.

    Where dims are `moved`, its order in memory is that of the result.
    """
    memory = result.memory if moved else memory_order.kept(result, target)
    return replace(
        result, dtype=target.dtype, device=target.device, layout=target.layout, memory=memory
    )
