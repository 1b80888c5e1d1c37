"""Keeps tensors from being sequences to C code.

C code that reads nested lists (``torch.tensor``, pybind11) asks a class for its slots of a
sequence. A tensor has items as a mapping has, and those slots are empty. Python fills them where
``__getitem__`` is assigned to a class, also in the classes below, and leaves them so where it is
deleted again: ``torch.tensor([loss, loss])`` would read the scalars as lists. So slots that were
empty before a patch are emptied after it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

# The places of these slots in PySequenceMethods: sq_item, sq_ass_item.
_PLACES: Final = MappingProxyType({"__getitem__": 3, "__setitem__": 5, "__delitem__": 5})
# The place of tp_as_sequence behind the head of a type object.
_METHODS: Final = 10

Slot: TypeAlias = tuple[Any, int]
"""A class, and the place of one of its slots."""


def empty_slots(owner: Any, attribute: Any) -> list[Slot]:
    """The empty slots that assigning an attribute to a class, or deleting it, may fill."""
    if not isinstance(owner, type) or attribute not in _PLACES or not _can_be_emptied():
        return []
    place = _PLACES[attribute]
    return [(kind, place) for kind in _tree(owner) if _is_empty(kind, place)]


def empty_again(slots: list[Slot]) -> None:
    """Empty the slots that were empty before."""
    for kind, place in slots:
        _empty(kind, place)


def empty_as_in(kind: Any, ancestor: type) -> None:
    """Empty the slots of a new class that it has for items as its ancestor has them."""
    for attribute, place in _PLACES.items() if _can_be_emptied() else ():
        definer = next((each for each in kind.__mro__ if attribute in vars(each)), None)
        if definer is ancestor and _is_empty(ancestor, place):
            _empty(kind, place)


def _tree(kind: Any) -> Iterator[Any]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


def _is_empty(kind: Any, place: int) -> bool:
    slot = _slot(kind, place)
    return slot is not None and slot.value is None


def _empty(kind: Any, place: int) -> None:
    slot = _slot(kind, place)
    if slot is not None:
        slot.value = None


def _slot(kind: Any, place: int) -> ctypes.c_void_p | None:
    """A slot of a class that Python code made: these have all slots in the type object itself."""
    pointer = ctypes.sizeof(ctypes.c_void_p)
    head = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
    start = id(kind)
    methods = ctypes.c_void_p.from_address(start + head + _METHODS * pointer).value or 0
    if not start < methods < start + type(kind).__basicsize__:
        return None
    return ctypes.c_void_p.from_address(methods + place * pointer)


@cache
def _can_be_emptied() -> bool:
    """Whether type objects of this Python have the layout of CPython: tried with a class."""
    if sys.implementation.name != "cpython":
        return False

    class Items:
        def __getitem__(self, index: int) -> int:
            return index

    is_sequence = ctypes.pythonapi.PySequence_Check
    is_sequence.argtypes = [ctypes.py_object]
    place = _PLACES["__getitem__"]
    if _slot(Items, place) is None or _is_empty(Items, place):
        return False
    _empty(Items, place)
    return not is_sequence(Items())
