"""What identifies values: in the keys of opaque values, as objects, and in comparisons."""

from __future__ import annotations

from collections.abc import Hashable

from namecheck.interpreter.domain.joins import entries, held, items
from namecheck.interpreter.domain.provenance import Operation
from namecheck.interpreter.domain.recordings import newest
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Address,
    Const,
    DictValue,
    Key,
    ListValue,
    Mutable,
    Opaque,
    Picked,
    TensorValue,
    Value,
)


def of(value: Value, store: Store) -> Hashable:
    """The identity of a value in the key of an opaque value that is made from it."""
    if isinstance(value, Opaque):
        return value.key
    if isinstance(value, TensorValue):
        return (value.address, held(value, store).tensor)
    if isinstance(value, ListValue):
        return (value.kind, items(value, store))
    if isinstance(value, DictValue):
        return entries(value, store)
    return value


def equality_of(*compared: Hashable) -> Key:
    """The key for the equality of two values, whatever their order.

    Their order in it does not depend on the hash seed, and seldom on the numbers in them.
    """
    return Key(Operation("Eq", tuple(sorted(compared, key=_rank))))


def _rank(part: object) -> tuple[object, ...]:
    text = repr(part.value) if isinstance(part, Const) else ""
    return newest(part), type(part).__name__, part.size if isinstance(part, Key) else 0, text


def may_be_one(a: Mutable, b: Mutable) -> bool:
    """Whether two values may be one object; an object that the program makes has an int address."""
    every = _objects(a) | _objects(b)
    return have_one_origin(a, b) or not all(isinstance(address, int) for address in every)


def have_one_origin(a: Mutable, b: Mutable) -> bool:
    """Whether two values are one object, or may be picks of one."""
    return not _objects(a).isdisjoint(_objects(b))


def _objects(mutable: Mutable) -> set[Address]:
    if not isinstance(mutable.address, Picked):
        return {mutable.address}
    every = {origin.address for origin in mutable.address.origins}
    return {a for a in every if not isinstance(a, Picked)} or {mutable.address}
