"""Attribute look-up in a class of the program: its own attributes, then those of its bases."""

from __future__ import annotations

from typing import Final

from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import ClassValue, External, Instance, Value

# Of how many classes an order costs no steps.
_SHORT: Final = 32


def mro(cls: ClassValue) -> tuple[Value, ...]:
    """The class and its bases, depth first, each once and after the classes derived from it."""
    return cls.linear


def attribute(cls: ClassValue, name: str, store: Store) -> Value | None:
    """The value of an attribute in a class, or in the first of its bases that has it."""
    order = mro(cls)
    if len(order) > _SHORT:
        store.ledger.meter.spend(len(order) >> 3)
    for base in order:
        if isinstance(base, ClassValue):
            value: Value | None = store.get((base.address, name))
            if value is not None:
                return value
    return None


def of_now(instance: Instance, store: Store) -> Instance | None:
    """An instance with the class that it has now, as ``x.__class__ = C`` sets it; None: unknown."""
    cls: Value | None = store.get((instance.address, "__class__"))
    if cls is None:
        return instance
    return Instance(instance.address, cls) if isinstance(cls, ClassValue) else None


def method(instance: Instance, name: str, store: Store) -> Value | None:
    """The method of this name in the class of an instance."""
    now = of_now(instance, store)
    return store.ledger.fresh("class") if now is None else attribute(now.cls, name, store)


def derives(cls: ClassValue, path: str) -> bool:
    """Whether a class derives from a library class, by the last parts of its name."""
    return any(isinstance(base, External) and base.path.endswith(path) for base in mro(cls))
