"""The attributes of a result: its dtype, device, layout and memory order.

One call computes all attributes of a tensor; a module for each attribute reads its column of the
row. Names and sizes come first: where an attribute contradicts, `namecheck.operators.infer` first
looks for a contradiction of names and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dtypes import Defaults
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.tensors import Many, Tensor
from namecheck.effects import conditions, device, dtype, layout, memory_order, operands, overlap
from namecheck.effects.device import DeviceEffect
from namecheck.effects.dtype import DtypeEffect
from namecheck.effects.layout import LayoutEffect
from namecheck.effects.memory_order import MemoryEffect
from namecheck.effects.words import Condition


@dataclass(frozen=True, slots=True)
class Effects:
    """All attribute effects of a row, for one overload.

    `parameters` are those that the columns mention; the dtype is unknown where the call is
    `irregular`. `refuses_overlap` is whether no two elements of the tensor that is written to may
    share memory, `copied` the parameter that it may share them with.
    """

    dtype: DtypeEffect
    device: DeviceEffect
    memory: MemoryEffect
    layout: LayoutEffect
    irregular: Condition | None
    refuses_overlap: bool
    copied: str | None
    parameters: tuple[str, ...]


def attributed(
    answer: Any,
    effects: Effects,
    arguments: Mapping[str, Any],
    defaults: Defaults | None,
    target: Any = None,
) -> Any:
    """A result with its attributes; raises `Contradiction` where torch refuses the operands'.

    Where `defaults` is None no attribute is checked, and all of the result's are unknown. `target`
    is the tensor that is written to, in place or as ``out=``, if there is one.
    """
    if defaults is None:
        return answer
    if target is not None and effects.refuses_overlap:
        overlap.check(answer, target, arguments.get(effects.copied or ""))
    call_operands = operands.walk(arguments, effects.parameters)
    return _made(
        answer,
        _dtype(
            effects,
            arguments,
            lambda: dtype.of_result(answer, effects.dtype, call_operands, defaults, target),
        ),
        device.of_result(effects.device, call_operands, defaults, target),
        layout.of_result(answer, effects.layout, call_operands, writes=target is not None),
        memory_order.of_result(answer, effects.memory, call_operands),
    )


def _dtype(effects: Effects, arguments: Mapping[str, Any], regular: Callable[[], Any]) -> Any:
    """The dtype of a result: that of a regular call, which is refused only if this is one."""
    condition = effects.irregular
    if condition is None:
        return regular()
    if conditions.holds(condition, arguments):
        return UNKNOWN
    try:
        return regular()
    except Contradiction:
        if conditions.may_hold(condition, arguments):
            return UNKNOWN
        raise


def _made(answer: Any, *facts: Any) -> Any:
    """A result with all its attributes; several results share a value, or have a list of values."""
    if isinstance(answer, Tensor):
        return Tensor(answer.dims, *facts)
    if isinstance(answer, Many):
        return Many(_made(answer.each, *facts))
    if isinstance(answer, (tuple, list)):
        each = (one if isinstance(one, list) else repeat(one) for one in facts)
        return type(answer)(map(_made, answer, *each))
    return answer


def written_to(target: Tensor, computed: Tensor, *, moved: bool = False) -> Tensor:
    """A tensor after a result was written to it: it takes the dims and keeps its attributes.

    Where dims are `moved`, its memory order is that of the result.
    """
    memory = computed.memory if moved else memory_order.of_target(computed, target)
    return replace(
        computed, dtype=target.dtype, device=target.device, layout=target.layout, memory=memory
    )
