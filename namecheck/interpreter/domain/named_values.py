"""Whether values contain names, or may lead to tensors that do; each list is met once a level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.names import UNKNOWN, Answer, Axis, Name
from namecheck.interpreter.domain.joins import held, items
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Address,
    Const,
    External,
    Held,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Union,
    Value,
    each_of,
)

# How many levels of values within values are looked at.
_LEVELS: Final = 4


def names_something(content: Any, store: Store) -> bool:
    """Whether a content is or holds a name, a text or None, not too deep."""
    level = [content]
    for _ in range(_LEVELS):
        addresses: set[Address] = set()
        next_level: list[Any] = []
        for part in level:
            if isinstance(part, TensorValue):
                part = held(part, store)
            if isinstance(part, Held):
                if _is_named(part.tensor.names):
                    return True
            elif isinstance(part, Const):
                if isinstance(part.value, str) or part.value is None:
                    return True
            elif isinstance(part, TupleValue):
                next_level += part.items
            elif isinstance(part, tuple):
                next_level += part
            elif isinstance(part, ListValue) and part.address not in addresses:
                addresses.add(part.address)
                listed = items(part, store)
                next_level += listed if isinstance(listed, tuple) else ()
        level = next_level
    return False


def _is_named(names: Sequence[Name]) -> bool:
    """Whether something declares a name, or its absence.

    Names that the code itself has differ nearly everywhere: paths are not kept apart for them.
    """
    axes = [name.name for name in names if isinstance(name, Axis)]
    observed = [word for word in axes if naming.is_observed(word) or naming.is_number(word)]
    if observed:
        return len(observed) < len(axes) or any(isinstance(name, str) for name in names)
    return any(name is not UNKNOWN for name in names)


def may_lead_to_names(value: Value, store: Store) -> bool:
    """Whether a value is, contains or may refer to a tensor with names."""
    level = [value]
    for depth in range(_LEVELS + 1):
        next_level: list[Value] = []
        addresses: set[Address] = set()
        for part in level:
            if isinstance(part, (Const, Opaque, External)):
                continue
            if isinstance(part, TensorValue):
                if held(part, store).tensor.dims.named() is Answer.YES:
                    return True
            elif depth == _LEVELS:
                return True
            elif isinstance(part, TupleValue):
                next_level += part.items
            elif isinstance(part, ListValue):
                if part.address not in addresses:
                    addresses.add(part.address)
                    next_level += each_of(items(part, store))
            elif isinstance(part, Repeated):
                next_level.append(part.each)
            elif isinstance(part, Union):
                next_level += (choice.value for choice in part.alternatives)
            else:
                return True
        level = next_level
    return False
