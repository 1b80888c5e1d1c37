"""How a function becomes a rule that a row of the table of operators can name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

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


_R = TypeVar("_R", bound=Rule)


def rule(function: _R) -> _R:
    """Enter a function under its own name, which the rows of operators use."""
    RULES[function.__name__] = function
    return function


@cache
def load() -> dict[str, Rule]:
    """All rules by name."""
    for section in SECTIONS:
        importlib.import_module(f"namecheck.rules.{section}")
    return RULES


def called(rule: Rule, arguments: Mapping[str, Any]) -> Any:
    """What a rule answers to those of some arguments that it takes."""
    wanted = _parameters(rule)
    return rule(**{key: value for key, value in arguments.items() if key in wanted})


@cache
def _parameters(rule: Rule) -> frozenset[str]:
    return frozenset(inspect.signature(rule).parameters)
