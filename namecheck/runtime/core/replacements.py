"""Which wrapper replaces which function of torch, and the reverse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from namecheck.runtime.core.patch_table import ABSENT, TABLE, read


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Wrappers by the id of their original and the reverse: not every key can be hashed.

    The original is None for a wrapper of a function that this torch does not have.
    """

    wrappers: Mapping[int, Callable[..., Any]]
    originals: Mapping[int, Callable[..., Any] | None]


def is_wrapper(value: Any) -> bool:
    """Whether a value is a function that the patch table has put in place of one of torch's."""
    return value.__class__ is FunctionType and id(value) in _pairs(TABLE.generation).originals


def wrapper_of(value: Any) -> Callable[..., Any] | None:
    """The wrapper that replaces a function or method of torch, None where it is not patched."""
    return _pairs(TABLE.generation).wrappers.get(id(value))


def original_of(wrapper: Any) -> Callable[..., Any] | None:
    """The function of torch that a wrapper replaces, None where torch has none."""
    known = _pairs(TABLE.generation).originals
    function = known.get(id(wrapper))
    while id(function) in known:  # a class inherits the method of one that is patched too
        function = known[id(function)]
    return function


@lru_cache(maxsize=1)
def _pairs(generation: int) -> _Pairs:
    wrappers: dict[int, Callable[..., Any]] = {}
    originals: dict[int, Callable[..., Any] | None] = {}
    for patch in TABLE.originals:
        wrapper: Any = read(patch.owner, patch.attribute)
        before = patch.replacement
        if not _is_replacement(wrapper):
            continue
        if before is ABSENT:
            before = _inherited(patch.owner, patch.attribute)
        originals[id(wrapper)] = before
        if before is not None:
            wrappers.setdefault(id(before), wrapper)
    return _Pairs(wrappers, originals)


def _is_replacement(replacement: object) -> bool:
    return isinstance(replacement, (FunctionType, property))


def _inherited(owner: Any, attribute: str) -> Any:
    """What the bases of a class have under this name; None if they have nothing."""
    bases = owner.__mro__[1:] if isinstance(owner, type) else ()
    return next((vars(base)[attribute] for base in bases if attribute in vars(base)), None)
