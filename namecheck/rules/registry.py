"""Registers functions as rules that a row of the table of operators can name.

Every file of this folder is a section of rules; all are discovered, so that a new file needs no
registration. A section is imported when one of its rules is asked for: most programs need few.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar, overload

from namecheck.core.dataclasses import dataclass
from namecheck.core.dims import Dims
from namecheck.core.discovery import modules_in
from namecheck.core.faults import TableError
from namecheck.core.names import UNKNOWN
from namecheck.core.parameters import declared, unwrapped
from namecheck.core.sizes import Expression

Rule: TypeAlias = Callable[..., Any]
Alignment: TypeAlias = Literal["", "broadcast", "matched"]


@dataclass(frozen=True, slots=True)
class Writes:
    """The answer of a rule that also changes arguments: the new state of each, by parameter."""

    result: Any
    after: Mapping[str, Dims]


@dataclass(frozen=True, slots=True)
class Traits:
    """The properties of all rows that follow a rule, beside the names of their results.

    `memory` is the word for the memory order of the result (`namecheck.effects.memory_order`);
    ``unknown`` where it varies. `overlaps` is ``refused`` where torch does not write to a tensor
    whose elements share memory (`namecheck.effects.overlap`). `aligns` says how its tensors are
    aligned: ``broadcast`` to the dims of the result, or ``matched`` dim by dim where the result has
    other dims; empty where each has its own role. A rule that `broadcasts` all its operands does
    not move a 0-d tensor from another device (`namecheck.effects.device`). A rule that is not
    `patched` returns no tensor and reads no names: at run time the shim does not patch torch's
    function (`namecheck.runtime.patching.targets`). A rule that `counts` returns ints: where the
    analysis does not know such a number, it still knows its type. A rule for a `square` takes
    tensors whose first one has a last and a next to last dim of one size. A rule that is `strided`
    depends on whether a tensor is contiguous.
    """

    memory: str = ""
    overlaps: str = ""
    aligns: Alignment = ""
    broadcasts: bool = False
    patched: bool = True
    counts: bool = False
    square: bool = False
    strided: bool = False


NO_TRAITS: Final = Traits()

_RULES: Final[dict[str, Rule]] = {}
_TRAITS: Final[dict[str, Traits]] = {}

_R = TypeVar("_R", bound=Rule)


@overload
def rule(function: _R) -> _R:
    """Register a function without traits."""


@overload
def rule(
    *,
    memory: str = "",
    overlaps: str = "",
    aligns: Alignment = "",
    broadcasts: bool = False,
    patched: bool = True,
    counts: bool = False,
    square: bool = False,
    strided: bool = False,
) -> Callable[[_R], _R]:
    """Register the decorated function with its traits."""


def rule(
    function: _R | None = None,
    *,
    memory: str = "",
    overlaps: str = "",
    aligns: Alignment = "",
    broadcasts: bool = False,
    patched: bool = True,
    counts: bool = False,
    square: bool = False,
    strided: bool = False,
) -> _R | Callable[[_R], _R]:
    """Register a function, with its `Traits`, under its own name, which rows refer to.

    Raises `TableError` where another function has that name.
    """
    if function is not None:
        return _enter(function, NO_TRAITS)
    traits = Traits(memory, overlaps, aligns, broadcasts, patched, counts, square, strided)
    return lambda decorated: _enter(decorated, traits)


def _enter(function: _R, traits: Traits) -> _R:
    name = function.__name__
    earlier = _RULES.get(name)
    # A section whose import failed half-way may be imported again: from the same place.
    if earlier is not None and _place(earlier) != _place(function):
        raise TableError(
            f"{_place(function)}: the rule '{name}' is defined already, at {_place(earlier)}"
        )
    _RULES[name] = function
    _TRAITS[name] = traits
    return function


def _place(rule_function: Rule) -> str:
    code = unwrapped(rule_function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def sections() -> tuple[str, ...]:
    """The names of the modules of this folder, which have the rules."""
    return modules_in([os.path.dirname(__file__)])


@cache
def load() -> Mapping[str, Rule]:
    """All rules by name; raises `TableError` where a section cannot be imported."""
    for section in sections():
        _import(section)
    return MappingProxyType(_RULES)


@cache
def find(name: str) -> Rule | None:
    """The rule with this name, None where there is none; raises `TableError` as `load` does.

    A function that two sections define has both imported, so that a second rule is refused.
    """
    homes = _homes()
    if name in homes:
        _import(homes[name])
    return _RULES.get(name)


@cache
def traits_of(name: str) -> Traits:
    """The traits of a rule; the default traits where there is no such rule."""
    find(name)
    return _TRAITS.get(name, NO_TRAITS)


def _import(section: str) -> None:
    try:
        importlib.import_module(f"{__package__}.{section}")
    except (TableError, RecursionError):  # such a one is that of the checked code
        raise
    except Exception as error:
        raise TableError(f"{__package__}.{section}: {type(error).__name__}: {error}") from error


@cache
def _homes() -> Mapping[str, str]:
    """The section that defines each function, by its name; found without importing it."""
    homes: dict[str, str] = {}
    for section in sections():
        path = os.path.join(os.path.dirname(__file__), f"{section}.py")
        with open(path, encoding="utf-8", errors="replace") as file:
            _, *definitions = file.read().split("\ndef ")
        for definition in definitions:
            name = definition.partition("(")[0]
            if homes.setdefault(name, section) != section and not name.startswith("_"):
                _import(homes[name])
                _import(section)
    return homes


def called(rule: Rule, arguments: Mapping[str, Any]) -> Any:
    """Call a rule with those of some arguments that it takes.

    A number that sizes compute reaches a parameter that is annotated as a size or a dim; to a rule
    that takes only an int, it is an unknown one.
    """
    takes_int_alone = _parameters(rule)
    return rule(
        **{
            key: UNKNOWN if isinstance(value, Expression) and takes_int_alone[key] else value
            for key, value in arguments.items()
            if key in takes_int_alone
        }
    )


@cache
def _parameters(rule: Rule) -> Mapping[str, bool]:
    """The parameters of a rule, and whether each takes an int or what is unknown, nothing else."""
    return {each.name: each.type_text == "int | Unknown" for each in declared(rule)}
