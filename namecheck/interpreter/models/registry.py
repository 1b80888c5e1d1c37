"""Where models of libraries are registered, by the dotted names that programs know them by.

A module of this package registers what it models when it is imported; `discover` imports them all.
Nothing but this registry knows which libraries there are.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias, TypeVar

from namecheck.interpreter import models
from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

Model: TypeAlias = Callable[[Interpreter, Call], Value]
"""What a function or class of a library gives when it is called."""

FamilyModel: TypeAlias = Callable[[Interpreter, str, Call], Value]
"""The same for all of a library that has no model of its own, by its name in the library."""

DecoratorModel: TypeAlias = Callable[[Interpreter, Value], Value | None]
"""What a decorator makes of a function or class; None where it is called like any function."""

_T = TypeVar("_T")


class DuplicateModel(Exception):
    """Two models are registered under one name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model of one function; `open` where its arguments may be of unknown number."""

    function: Model
    open: bool


@dataclass(frozen=True, slots=True)
class Family:
    """A model of all of a library that has no model of its own; `open` as in `Entry`."""

    function: FamilyModel
    open: bool


FUNCTIONS: Final[dict[str, Entry]] = {}
FAMILIES: Final[dict[str, Family]] = {}
DECORATORS: Final[dict[str, DecoratorModel]] = {}
KINDS: Final[dict[str, str]] = {}
TRANSPARENT_DECORATORS: Final[set[str]] = set()
TRANSPARENT_CALLS: Final[set[str]] = set()


def model(
    *paths: str, open: bool = False
) -> Callable[[Callable[[Interpreter, Call], Value]], Callable[[Interpreter, Call], Value]]:
    """Register a model of the functions or classes of these dotted names.

    It is not asked about calls with arguments of unknown number (``f(*unknown)``), unless `open`.
    """

    def register(function: Model) -> Model:
        for path in paths:
            _add(FUNCTIONS, path, Entry(function, open))
        return function

    return register


def family(
    library: str, *, open: bool = False
) -> Callable[
    [Callable[[Interpreter, str, Call], Value]], Callable[[Interpreter, str, Call], Value]
]:
    """Register a model of all of a library that has no model of its own; `open` as in `model`."""

    def register(function: FamilyModel) -> FamilyModel:
        _add(FAMILIES, library, Family(function, open))
        return function

    return register


def decorator(
    path: str,
) -> Callable[
    [Callable[[Interpreter, Value], Value | None]], Callable[[Interpreter, Value], Value | None]
]:
    """Register a model of a decorator."""

    def register(function: DecoratorModel) -> DecoratorModel:
        _add(DECORATORS, path, function)
        return function

    return register


def transparent(*patterns: str, when_called: bool = False) -> None:
    """Register decorators that leave a function or class what it was, with options or without.

    A pattern is a dotted name, or ``library.*``. `when_called` says that they do so where they are
    called in the midst of code, too.
    """
    TRANSPARENT_DECORATORS.update(patterns)
    if when_called:
        TRANSPARENT_CALLS.update(patterns)


def result_kind(kind: str, *paths: str) -> None:
    """Register functions of whose results nothing is known but the name of their type."""
    for path in paths:
        _add(KINDS, path, kind)


def covers(patterns: Collection[str], path: str) -> bool:
    """Whether a dotted name, or a library or class that it is in, is among some patterns."""
    if path in patterns:
        return True
    while "." in path:
        path = path.rpartition(".")[0]
        if f"{path}.*" in patterns:
            return True
    return False


@cache
def discover() -> None:
    """Import all modules of this package, so that they register their models."""
    for module in pkgutil.walk_packages(models.__path__, f"{models.__name__}."):
        importlib.import_module(module.name)


def _add(table: dict[str, _T], path: str, entry: _T) -> None:
    if path in table:
        raise DuplicateModel(f"there are two models of {path}")
    table[path] = entry
