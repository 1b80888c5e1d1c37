"""How a function becomes a rule that a row of the table of operators can name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, overload

from namecheck.core.dims import Dims

Rule: TypeAlias = Callable[..., Any]

SECTIONS: Final = (
    "contractions",
    "products",
    "permutations",
    "factories",
    "naming",
    "alignment",
    "flattening",
    "indexing",
    "queries",
    "memory_queries",
    "layers",
    "losses",
    "attention",
    "recurrent",
    "sparse",
    "spatial",
    "blocks",
    "algebra",
    "einsum",
    "einops",
    "packing",
    "matrices",
    "grids",
    "elements",
    "dtype_queries",
    "device_queries",
    "lookups",
    "concatenations",
    "masks",
    "splits",
    "rearrangements",
    "shapes",
    "views",
    "scans",
    "fourier",
    "pointwise",
    "reductions",
)

RULES: dict[str, Rule] = {}


@dataclass(frozen=True, slots=True)
class Writes:
    """The answer of a rule that also changes arguments: what each has become, by parameter."""

    result: Any
    after: Mapping[str, Dims]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a rule says of attributes for the rows that follow it.

    `memory` is the word for the memory order of the result (`namecheck.effects.memory_order`);
    ``unknown`` where it varies. `overlaps` is ``refused`` where torch does not write to a tensor of
    which several elements share memory (`namecheck.effects.overlap`). What `broadcasts` all its
    operands does not move one without dims from another device (`namecheck.effects.device`).
    """

    memory: str = ""
    overlaps: str = ""
    broadcasts: bool = False


TRAITS: dict[str, Traits] = {}
NO_TRAITS: Final = Traits()

_R = TypeVar("_R", bound=Rule)


@overload
def rule(function: _R) -> _R:
    """Enter a function that says nothing of attributes."""


@overload
def rule(*, memory: str = "", overlaps: str = "", broadcasts: bool = False) -> Callable[[_R], _R]:
    """Enter the decorated function with what it says of attributes."""


def rule(
    function: _R | None = None, *, memory: str = "", overlaps: str = "", broadcasts: bool = False
) -> _R | Callable[[_R], _R]:
    """Enter a function under its own name, which rows name, with what it says of attributes."""
    if function is not None:
        return _enter(function, NO_TRAITS)
    traits = Traits(memory, overlaps, broadcasts)
    return lambda decorated: _enter(decorated, traits)


def _enter(function: _R, traits: Traits) -> _R:
    RULES[function.__name__] = function
    TRAITS[function.__name__] = traits
    return function


@cache
def load() -> dict[str, Rule]:
    """All rules by name."""
    for section in SECTIONS:
        importlib.import_module(f"namecheck.rules.{section}")
    return RULES


def traits_of(name: str) -> Traits:
    """What a rule says of attributes; nothing where there is no such rule."""
    load()
    return TRAITS.get(name, NO_TRAITS)


def called(rule: Rule, arguments: Mapping[str, Any]) -> Any:
    """What a rule answers to those of some arguments that it takes."""
    wanted = _parameters(rule)
    return rule(**{key: value for key, value in arguments.items() if key in wanted})


@cache
def _parameters(rule: Rule) -> frozenset[str]:
    return frozenset(inspect.signature(rule).parameters)
