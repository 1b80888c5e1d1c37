"""Which function stands in the place of which of torch's, and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

import torch

from namecheck.runtime.patches import ABSENT, TABLE, read


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Functions by the identity of the other: not all that may be asked for can be hashed.

    A substitute for what torch has no function for has None as its original.
    """

    substitutes: Mapping[int, Callable[..., Any]]
    originals: Mapping[int, Callable[..., Any] | None]


def is_substitute(value: Any) -> bool:
    """Whether a value is a function that stands in torch's place."""
    return value.__class__ is FunctionType and id(value) in _pairs(TABLE.generation).originals


def substitute(function: Any) -> Callable[..., Any] | None:
    """What stands in the place of a function or method of torch, if anything does."""
    return _pairs(TABLE.generation).substitutes.get(id(function))


def original(function: Any) -> Callable[..., Any] | None:
    """The function of torch in whose place another stands; None where torch has none."""
    return _pairs(TABLE.generation).originals.get(id(function))


@lru_cache(maxsize=1)
def _pairs(generation: int) -> _Pairs:
    substitutes: dict[int, Callable[..., Any]] = {}
    originals: dict[int, Callable[..., Any] | None] = {}
    for patch in TABLE.originals:
        function, before = read(patch.owner, patch.attribute), patch.replacement
        if not isinstance(function, FunctionType):
            continue
        if before is ABSENT:
            before = getattr(torch._C.TensorBase, patch.attribute, None)
        originals[id(function)] = before
        if before is not None:
            substitutes.setdefault(id(before), function)
    return _Pairs(substitutes, originals)
