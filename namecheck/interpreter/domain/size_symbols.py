"""Sizes that come from elsewhere, as symbols: ``self.n_head``, an ``int`` parameter, ``C // h``.

A number that is used as a size is an int above 0, or the call fails. The same number has the same
symbol: a parameter is told by its environment, an attribute by its object.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final

from namecheck.core import names as naming
from namecheck.core.sizes import Known, symbol
from namecheck.interpreter.domain.cells import NumberTest
from namecheck.interpreter.domain.provenance import (
    Attribute,
    Fresh,
    Item,
    Operation,
    Parameter,
    Result,
    SizeOf,
)
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Const, Key, Opaque, Value

_ARITHMETIC: Final[dict[str, Callable[[Known, Known], Known]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
}
# The words for the arithmetic of numbers that are no sizes, in the name of what is made of them.
_WORDS: Final = {
    "Add": "plus",
    "Sub": "minus",
    "Mult": "times",
    "Div": "over",
    "FloorDiv": "per",
    "Mod": "modulo",
    "Pow": "to_the",
}
_OF_NUMBERS: Final = frozenset({"abs", "int", "max", "min", "round"})
_POWERS: Final = 4
# A larger index of an item is the number of the place that picks one of several.
_PLACES: Final = 1 << 20
_DEEPEST: Final = 8
ARITHMETIC: Final = frozenset({"Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "USub"})
"""The operators that make numbers of numbers."""
CHOICE: Final = "choice"
"""The word of a number that is one of several, or that nobody has a word for."""


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


def is_number(part: object, store: Store, depth: int = 0) -> bool:
    """Whether a value, given by its identity, is a number."""
    if isinstance(part, Const):
        return type(part.value) in (int, float)
    if not isinstance(part, Key) or depth > _DEEPEST:
        return False
    match part.provenance:
        case SizeOf():
            return True
        case Parameter() | Attribute() | Item() | Fresh("join"):
            return store.fact(NumberTest, part) is True
        case Operation(name, operands) if name in ARITHMETIC:
            return all(is_number(operand, store, depth + 1) for operand in operands)
    return False


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
        case Fresh(_, number):
            # Whoever made it, or whichever path: it is one number.
            return symbol(naming.of_number(CHOICE, number))
        case Result("int", (Key() as number_key,)):
            truncated = _truncated(number_key, depth)
            return _computed(part, depth) if truncated is None else truncated
        case Result():
            return _computed(part, depth)
        case Operation("Pow", (base, Const(value=int() as exponent))) if 0 < exponent <= _POWERS:
            factor = _of_key(base, depth + 1)
            return None if factor is None else math.prod([factor] * exponent)
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


def _computed(key: Key, depth: int) -> Known | None:
    """The result of a function of numbers, by how it is computed: ``int(dim * ratio)``."""
    written = _written(key, depth)
    if written is None or not written[1]:
        return None
    text, numbers = written
    name = naming.of_number(text, numbers[0])
    for number in numbers[1:]:
        name = naming.scoped(name, number)
    return symbol(name)


def _written(part: object, depth: int) -> tuple[str, tuple[int, ...]] | None:
    """How a number is computed, in words, and the numbers of what it is computed from."""
    if isinstance(part, Const):
        return (f"{part.value}", ()) if type(part.value) in (int, float) else None
    if not isinstance(part, Key) or depth > _DEEPEST:
        return None
    match part.provenance:
        case Parameter() | Attribute() | Item():
            path = _path(part, depth)
            return None if path is None else (path[0], (path[1],))
        case Operation(name, operands) if name in _WORDS:
            return _joined(operands, f"_{_WORDS[name]}_", depth)
        case Result(function, args) if function in _OF_NUMBERS:
            joined = _joined(args, "_and_", depth)
            return None if joined is None else (f"{function}_of_{joined[0]}", joined[1])
    return None


def _joined(
    operand_parts: tuple[object, ...], between: str, depth: int
) -> tuple[str, tuple[int, ...]] | None:
    written = [_written(part, depth + 1) for part in operand_parts]
    known = [each for each in written if each is not None]
    if len(known) < len(written):
        return None
    numbers = tuple(number for _, several in known for number in several)
    return between.join(text for text, _ in known), numbers


def _path(key: Key, depth: int) -> tuple[str, int] | None:
    """The words that lead to an unknown value, and the number of what they start from."""
    match key.provenance:
        case Parameter(number, word) if word:
            return word, number
        case Fresh(_, number):
            return CHOICE, number
        case Attribute(int() as address, word):
            return word, address
        case Attribute(Key() as outer, word) if depth <= _DEEPEST:
            path = _path(outer, depth + 1)
            return None if path is None else (f"{path[0]}.{word}", path[1])
        case Item(Key(provenance=Fresh()), int() as picked) if picked > _PLACES:
            return CHOICE, picked
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
