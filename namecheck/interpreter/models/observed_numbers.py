"""Unknown values that are numbers, since the code uses them as sizes: ``dim_head ** -0.5``.

A parameter of a constructor may be anything. Where a layer, a view or a pattern takes it as a size,
or its default is a number, it is a number, and so is what arithmetic makes of it: a tensor that is
multiplied by that keeps its dims. What is called a number of things, or the features of a model, is
one size where it is the only one: ``torch.ones(hidden_size)``; a `kernel_size` may be several.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import SOME_NUMBERS
from namecheck.interpreter.domain import size_symbols
from namecheck.interpreter.domain.cells import NumberTest
from namecheck.interpreter.domain.provenance import (
    Attribute,
    Fresh,
    Item,
    Operation,
    Parameter,
)
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Key, Opaque, Value
from namecheck.operators.row import Operator
from namecheck.rules.registry import traits_of

_DEEPEST: Final = 8
_COUNT: Final = (
    r"(?x) (\w+_)? (dim | channels | features | heads | hidden | len | length | d_model) "
    r"| (num|n) _ \w+ | (\w+_)? (embed | embedding | hidden | inner | intermediate | vocab) _size"
)


def is_count(size_value: Value) -> bool:
    """Whether all words of a value say that it is one number."""
    leaves = _leaves(size_value.key, 0) if isinstance(size_value, Opaque) else []
    return bool(leaves) and all(re.fullmatch(_COUNT, _word(leaf)) for leaf in leaves)


def _word(leaf: Key) -> str:
    match leaf.provenance:
        case Parameter(_, word) | Attribute(_, word):
            return word
    return ""


def note(size_value: Value, store: Store) -> None:
    """Note that what a size is computed from are numbers."""
    if not isinstance(size_value, Opaque):
        return
    for leaf in _leaves(size_value.key, 0):
        if store.fact(NumberTest, leaf) is None:
            store.set(NumberTest(leaf), True)


def _leaves(part: object, depth: int) -> list[Key]:
    if not isinstance(part, Key) or depth > _DEEPEST:
        return []
    match part.provenance:
        case Parameter() | Attribute() | Item() | Fresh("join"):
            return [part]
        case Operation(name, operands) if name in size_symbols.ARITHMETIC:
            return [leaf for operand in operands for leaf in _leaves(operand, depth + 1)]
    return []


def fill(row: Operator | None, args: Sequence[Value], lowered: list[Any], store: Store) -> None:
    """Replace the unknown numbers among the operands of a broadcast, in the lowered arguments."""
    if (
        row is None
        or not any(arg is UNKNOWN for arg in lowered)
        or traits_of(row.names).aligns != "broadcast"
    ):
        return
    for index, value in enumerate(args):
        if lowered[index] is not UNKNOWN or not isinstance(value, Opaque):
            continue
        if size_symbols.is_number(value.key, store):
            lowered[index] = SOME_NUMBERS["float"]
