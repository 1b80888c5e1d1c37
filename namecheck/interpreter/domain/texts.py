"""Texts that are partly known: ``f"layer{i}"``, ``"layer%d" % i``, ``"layer" + name``."""

from __future__ import annotations

import re
from typing import Final

from namecheck.interpreter.domain import identities
from namecheck.interpreter.domain.provenance import Operation, Result, Text
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Const, Key, Opaque, Value

_ANY: Final = ".*"
_NUMBER: Final = r"-?\d+"
_DIGITS: Final = "digits"


def part_of(value: Value, store: Store) -> Value:
    """A value as a part of a text: of an unknown int its digits."""
    if not isinstance(value, Opaque) or value.kind != "int":
        return value
    return Opaque(Result(_DIGITS, (identities.of(value, store),)), "str")


def around(head: str, value: Value, tail: str, store: Store) -> Opaque:
    """A text with an unknown part."""
    part = identities.of(part_of(value, store), store)
    return Opaque(Text((Const(head), part, Const(tail))), "str")


def pattern_of(text: Value) -> str | None:
    """The regular expression that a partly known text matches; None where nothing is known."""
    pattern = _pattern(text.key) if isinstance(text, Opaque) else _ANY
    return pattern if pattern.replace(_ANY, "") else None


def may_share(pattern: str, other_pattern: str) -> bool:
    """Whether one text may match two patterns, by their beginnings; one may be a plain text."""
    starts = (re.split(r"\.\*|-\?", each)[0] for each in (pattern, other_pattern))
    left, right = starts
    return left.startswith(right) or right.startswith(left)


def _pattern(part: object) -> str:
    if isinstance(part, Const):
        return re.escape(str(part.value))
    match part.provenance if isinstance(part, Key) else None:
        case Text(fragments):
            return "".join(map(_pattern, fragments))
        case Operation("Add", operands):
            return "".join(map(_pattern, operands))
        case Result(function) if function == _DIGITS:
            return _NUMBER
    return _ANY
