"""Attributes whose names are only partly known: ``setattr(self, f"layer{i}", nn.Linear(d, d))``.

All that is set under one pattern is kept in a list of its own, from which a read under a pattern
picks one item.
"""

from __future__ import annotations

import re

from namecheck.core.dataclasses import dataclass
from namecheck.interpreter.domain import joins, texts
from namecheck.interpreter.domain.cells import AttributeNames
from namecheck.interpreter.domain.values import (
    NONE,
    Address,
    BuiltinMethod,
    Const,
    Instance,
    ListValue,
    Repeated,
    TorchModule,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives


@dataclass(frozen=True, slots=True)
class AttributesLike:
    """Stands for the name of an attribute: all attributes that were set under a pattern."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Matching:
    """The address of the attributes of an object that were set under a pattern."""

    owner: Address
    pattern: str


def add(interpreter: Interpreter, target: Value, name: Value, value: Value, call: Call) -> bool:
    """Set an attribute under a partly known name; False where the name or the target is unknown."""
    pattern = texts.pattern_of(name)
    if pattern is None or not isinstance(target, (Instance, TorchModule)):
        return False
    interpreter.forget_attributes(target, call.store, pattern)
    listed = _of(target, pattern)
    primitives.invoke(interpreter, BuiltinMethod(listed, "append"), [value], call)
    call.store.write((target.address, AttributesLike(pattern)), listed, listed)
    return True


def read(interpreter: Interpreter, target: Value, name: Value, call: Call) -> Value | None:
    """One of the attributes that have such a name; None where none is known, or they differ.

    Which of several is meant, and in which order, the name does not say.
    """
    pattern = re.escape(str(name.value)) if isinstance(name, Const) else texts.pattern_of(name)
    if pattern is None or not isinstance(target, Instance):
        return None
    store = call.store
    candidates: list[Value] = []
    for attribute_name in store.get(AttributeNames(target.address), ()):
        value = store.get((target.address, attribute_name), NONE)
        if not isinstance(attribute_name, AttributesLike):
            candidates += [value] if value != NONE and re.fullmatch(pattern, attribute_name) else []
        elif texts.may_share(attribute_name.pattern, pattern) and isinstance(value, ListValue):
            content = joins.items(value, store)
            candidates += [content.each] if isinstance(content, Repeated) else content
    if not candidates or not all(
        joins.are_copies(candidates[0], store, value, store) for value in candidates[1:]
    ):
        return None
    return primitives.pick(interpreter, tuple(candidates), call)


def _of(holder: Instance | TorchModule, pattern: str) -> ListValue:
    return ListValue(Matching(holder.address, pattern), ())
