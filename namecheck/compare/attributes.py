"""What both sides say of an expression's attributes besides its names: the dtype and its kin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from namecheck.core import devices, dtypes, memory_order
from namecheck.core.memory_order import Memory
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.tensors import Many, Tensor


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its word, whether what is told of it covers what is seen, and how it is shown.

    `known` tells whether it is told in full.
    """

    word: str
    covers: Callable[[Tensor, Tensor], bool]
    known: Callable[[Tensor], bool]
    show: Callable[[Tensor], str]


def _shown(word: str) -> str:
    return word or "?"


def _lies_so(told: Tensor, seen: Tensor) -> bool:
    """Whether a tensor that is seen lies in memory as was told."""
    return memory_order.agrees(told.memory, seen.memory, seen.dims.sizes)


def _shown_order(order: Memory) -> str:
    if isinstance(order, Unknown):
        return "?"
    if isinstance(order, memory_order.Gapped):
        steps = ("?" if isinstance(step, Unknown) else str(step) for step in order.steps)
        return f"strides ({', '.join(steps)})"
    named = (word for word, dims in memory_order.FORMATS.items() if dims == order)
    return next(named, f"dims in the order {order}")


ATTRIBUTES: Final = (
    Attribute(
        "dtype",
        lambda told, seen: dtypes.covers(told.dtype, seen.dtype),
        lambda told: isinstance(told.dtype, str),
        lambda one: _shown(dtypes.show(one.dtype)),
    ),
    Attribute(
        "device",
        lambda told, seen: devices.covers(told.device, seen.device),
        lambda told: isinstance(told.device, (str, devices.Chosen)),
        lambda one: _shown(devices.show(one.device)),
    ),
    Attribute(
        "layout",
        lambda told, seen: told.layout in (UNKNOWN, seen.layout),
        lambda told: told.layout is not UNKNOWN,
        lambda one: _shown("" if one.layout is UNKNOWN else str(one.layout)),
    ),
    Attribute(
        "memory",
        _lies_so,
        lambda told: told.memory is not UNKNOWN,
        lambda one: _shown_order(one.memory),
    ),
)
"""The attributes that are compared, in the order in which a fault is told."""


def named(word: str) -> Attribute:
    """The attribute with a word."""
    return next(attribute for attribute in ATTRIBUTES if attribute.word == word)


def is_covered(attribute: Attribute, told: Any, seen: Any) -> bool:
    """Whether what is told of an attribute, of all tensors in a value, is so in the run."""
    return all(attribute.covers(one, other) for one, other in _pairs(told, seen))


def is_known(attribute: Attribute, told: Any, seen: Any) -> bool:
    """Whether it is told in full of all tensors in a value that was seen."""
    if told is UNKNOWN:
        return False
    return all(attribute.known(one) for one, _ in _pairs(told, seen))


def shown(attribute: Attribute, value: Any) -> str:
    """An attribute of a value for a reader: ``float32``, ``(float32, int64)``."""
    if isinstance(value, Tensor):
        return attribute.show(value)
    if isinstance(value, Many):
        return f"({attribute.show(value.each)}, …)"
    parts: Sequence[Any] = value if isinstance(value, tuple) else ()
    return f"({', '.join(shown(attribute, part) for part in parts)})" if parts else "?"


def _pairs(told: Any, seen: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """The tensors in a value, each as it is told of and as it is seen."""
    if isinstance(seen, Tensor):
        if isinstance(told, Tensor):
            yield told, seen
    elif isinstance(seen, tuple):
        parts: Sequence[Any] = (told.each,) * len(seen) if isinstance(told, Many) else told
        if isinstance(parts, tuple) and len(parts) == len(seen):
            for one, other in zip(parts, seen, strict=True):
                yield from _pairs(one, other)
