"""Sizes that come from elsewhere, as symbols: ``self.n_head``, an ``int`` parameter, ``C // h``.

A number that is used as a size is an int above 0, or the call fails. The same number has the same
symbol: a parameter is told by its environment, an attribute by its object.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from namecheck.core import names as naming
from namecheck.core.sizes import Known, symbol
from namecheck.interpreter.domain.provenance import (
    Attribute,
    Fresh,
    Item,
    Operation,
    Parameter,
    Result,
    SizeOf,
)
from namecheck.interpreter.domain.values import Const, Key, Opaque, Value

_ARITHMETIC: Final[dict[str, Callable[[Known, Known], Known]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
}
_DEEPEST: Final = 8
CHOICE: Final = "choice"
"""The word of a number that is one of several."""


def symbolic(value: Value) -> Known | None:
    """A value that is used as a size; None where nothing identifies it."""
    if isinstance(value, Const):
        return value.value if type(value.value) is int else None
    if not isinstance(value, Opaque) or value.kind not in (None, "int"):
        return None
    return of_key(value.key)


def of_key(key: Key) -> Known | None:
    """An unknown value that is used as a size, by its key."""
    return _of_key(key, 0)


def _of_key(part: object, depth: int) -> Known | None:
    if isinstance(part, Const):
        return symbolic(part)
    if not isinstance(part, Key) or depth > _DEEPEST:
        return None
    match part.provenance:
        case SizeOf(size):
            return size
        case Parameter() | Attribute() | Item():
            path = _path(part, depth)
            return None if path is None else symbol(naming.of_number(*path))
        case Fresh("join", number):
            # Two paths have two values for it: whichever it is, it is one number.
            return symbol(naming.of_number(CHOICE, number))
        case Result("int", (Key() as number_key,)):
            return _truncated(number_key, depth)
        case Operation(name, (left, right)) if name in _ARITHMETIC:
            sizes = _of_key(left, depth + 1), _of_key(right, depth + 1)
            if sizes[0] is None or sizes[1] is None or (name == "FloorDiv" and sizes[1] == 0):
                return None
            return _ARITHMETIC[name](sizes[0], sizes[1])
    return None


def _truncated(key: Key, depth: int) -> Known | None:
    """``int(dim / heads)``: sizes are not negative, so that it is a floor division."""
    match key.provenance:
        case Operation("Div", operands):
            return _of_key(Key(Operation("FloorDiv", operands)), depth)
        case Operation("FloorDiv"):
            return _of_key(key, depth)
    return None


def _path(key: Key, depth: int) -> tuple[str, int] | None:
    """The words that lead to an unknown value, and the number of what they start from."""
    match key.provenance:
        case Parameter(number, word) if word:
            return word, number
        case Attribute(int() as address, word):
            return word, address
        case Attribute(Key() as outer, word) if depth <= _DEEPEST:
            path = _path(outer, depth + 1)
            return None if path is None else (f"{path[0]}.{word}", path[1])
        case Item(Key() as outer, index) if depth <= _DEEPEST:
            place = index.value if isinstance(index, Const) else index
            path = _path(outer, depth + 1) if _is_plain(place) else None
            return None if path is None else (f"{path[0]}[{place!r}]", path[1])
    return None


def _is_plain(item_key: object) -> bool:
    """Whether an index is a number from the front, or a key that is a word: ``config["width"]``."""
    if isinstance(item_key, str):
        return item_key.isidentifier()
    return type(item_key) is int and item_key >= 0
