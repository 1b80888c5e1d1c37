"""The attributes of an expression besides its names, inferred and observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from namecheck.core import devices, dtypes, memory_order
from namecheck.core.dataclasses import dataclass
from namecheck.core.memory_order import Memory
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.tensors import Many, Tensor


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its word, whether the inferred one covers the observed one, and its text.

    `is_known` is whether the inferred one is fully known.
    """

    word: str
    covers: Callable[[Tensor, Tensor], bool]
    is_known: Callable[[Tensor], bool]
    show: Callable[[Tensor], str]


def _shown(word: str) -> str:
    return word or "?"


def _agrees_in_memory(inferred: Tensor, observed: Tensor) -> bool:
    """Whether an observed tensor has the inferred memory order."""
    return memory_order.agrees(inferred.memory, observed.memory, observed.dims.sizes)


def _shown_order(memory: Memory) -> str:
    if isinstance(memory, Unknown):
        return "?"
    if isinstance(memory, memory_order.Gapped):
        steps = ("?" if isinstance(step, Unknown) else str(step) for step in memory.steps)
        return f"strides ({', '.join(steps)})"
    named = (word for word, dims in memory_order.FORMATS.items() if dims == memory)
    return next(named, f"dims in the order {memory}")


def _has_all_sizes(inferred: Tensor) -> bool:
    """Whether the rank is known, and the size of each dim, as a number or an expression."""
    return not inferred.dims.open and UNKNOWN not in inferred.dims.sizes


ATTRIBUTES: Final = (
    Attribute(
        "sizes",
        lambda inferred, observed: True,  # `compare.sizes` compares them, in each activation
        _has_all_sizes,
        lambda one: one.dims.brief() or "(no dimension)",
    ),
    Attribute(
        "dtype",
        lambda inferred, observed: dtypes.covers(inferred.dtype, observed.dtype),
        lambda inferred: isinstance(inferred.dtype, str),
        lambda one: _shown(dtypes.show(one.dtype)),
    ),
    Attribute(
        "device",
        lambda inferred, observed: devices.covers(inferred.device, observed.device),
        lambda inferred: isinstance(inferred.device, (str, devices.Chosen)),
        lambda one: _shown(devices.show(one.device)),
    ),
    Attribute(
        "layout",
        lambda inferred, observed: inferred.layout in (UNKNOWN, observed.layout),
        lambda inferred: inferred.layout is not UNKNOWN,
        lambda one: _shown("" if one.layout is UNKNOWN else str(one.layout)),
    ),
    Attribute(
        "memory",
        _agrees_in_memory,
        lambda inferred: inferred.memory is not UNKNOWN,
        lambda one: _shown_order(one.memory),
    ),
)
"""The attributes that are compared, in the order in which a fault is reported."""


def named(word: str) -> Attribute:
    """The attribute with a word."""
    return next(attribute for attribute in ATTRIBUTES if attribute.word == word)


def is_covered(attribute: Attribute, inferred: Any, observed: Any) -> bool:
    """Whether the inferred attribute of all tensors in a value covers the observed one."""
    return all(attribute.covers(one, other) for one, other in _pairs(inferred, observed))


def is_known(attribute: Attribute, inferred: Any, observed: Any) -> bool:
    """Whether the inferred attribute is fully known for all tensors in an observed value."""
    if inferred is UNKNOWN:
        return False
    return all(attribute.is_known(one) for one, _ in _pairs(inferred, observed))


def shown(attribute: Attribute, value: Any) -> str:
    """An attribute of a value for a reader: ``float32``, ``(float32, int64)``."""
    if isinstance(value, Tensor):
        return attribute.show(value)
    if isinstance(value, Many):
        return f"({attribute.show(value.each)}, …)"
    parts: Sequence[Any] = value if isinstance(value, tuple) else ()
    return f"({', '.join(shown(attribute, part) for part in parts)})" if parts else "?"


def _pairs(inferred: Any, observed: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """The tensors in a value, inferred and observed, in pairs."""
    if isinstance(observed, Tensor):
        if isinstance(inferred, Tensor):
            yield inferred, observed
    elif isinstance(observed, tuple):
        parts: Sequence[Any] = (
            (inferred.each,) * len(observed) if isinstance(inferred, Many) else inferred
        )
        if isinstance(parts, tuple) and len(parts) == len(observed):
            for one, other in zip(parts, observed, strict=True):
                yield from _pairs(one, other)
