"""The registry of library models, by the dotted names that programs use.

A module of this package registers its models when it is imported. Those of builtins and torch are
imported at once, any other when a program first names its library, which is the name of the file.
Only this registry knows which libraries there are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from namecheck.core.dataclasses import dataclass
from namecheck.core.discovery import modules_in
from namecheck.interpreter.domain.values import Instance, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import standard_library, third_party, torch
from namecheck.interpreter.models.standard_library import builtins

Model: TypeAlias = Callable[[Interpreter, Call], Value]
"""Returns the result of calling a function or class of a library."""

FamilyModel: TypeAlias = Callable[[Interpreter, str, Call], Value]
"""The same for everything in a library without a model of its own, by its name in the library."""

DecoratorModel: TypeAlias = Callable[[Interpreter, Value], Value | None]
"""Decorates a function or class; None where it is called like any function."""

MethodModel: TypeAlias = Callable[[Interpreter, Any, Call], Value]
"""Returns the result of a method of a built-in type: it takes the receiver before the call."""

ReceiverModel: TypeAlias = Callable[[Interpreter, Any, str, Call], Value]
"""The same for all methods of a type without a model of their own, by their names."""

BaseModel: TypeAlias = Callable[[Interpreter, Instance, Call], Value | None]
"""Makes the library part of an instance whose class derives from a library class."""

BaseFamily: TypeAlias = Callable[[Interpreter, str], BaseModel | None]
"""The model of a library class by its dotted name, if others may derive from it."""

_M = TypeVar("_M", bound=Model)
_F = TypeVar("_F", bound=FamilyModel)
_D = TypeVar("_D", bound=DecoratorModel)
_V = TypeVar("_V", bound=ReceiverModel)
_B = TypeVar("_B", bound=BaseModel)
_A = TypeVar("_A", bound=BaseFamily)
_R = TypeVar("_R")
_K = TypeVar("_K")


class DuplicateModel(Exception):
    """Two models are registered under one name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model of one function; `open` where it accepts an unknown number of arguments."""

    function: Model
    open: bool


@dataclass(frozen=True, slots=True)
class Family:
    """A model of everything in a library that has no model of its own; `open` as in `Entry`."""

    function: FamilyModel
    open: bool


FUNCTIONS: Final[dict[str, Entry]] = {}
FAMILIES: Final[dict[str, Family]] = {}
DECORATORS: Final[dict[str, DecoratorModel]] = {}
METHODS: Final[dict[tuple[type, str], MethodModel]] = {}
RECEIVERS: Final[dict[type, ReceiverModel]] = {}
BASES: Final[dict[str, BaseModel]] = {}
BASE_FAMILIES: Final[dict[str, BaseFamily]] = {}
KINDS: Final[dict[str, str]] = {}
TRANSPARENT_DECORATORS: Final[set[str]] = set()
TRANSPARENT_CALLS: Final[set[str]] = set()


def model(*dotted_names: str, open: bool = False) -> Callable[[_M], _M]:
    """Register a model of the functions or classes of these dotted names.

    It does not handle calls with an unknown number of arguments (``f(*unknown)``), unless `open`.
    """

    def register(function: _M) -> _M:
        for path in dotted_names:
            _refuse_second(FUNCTIONS, path)
            FUNCTIONS[path] = Entry(function, open)
        return function

    return register


def family(library: str, *, open: bool = False) -> Callable[[_F], _F]:
    """Register a model of all else in a library, as `Family` describes; `open` as in `model`."""

    def register(function: _F) -> _F:
        _refuse_second(FAMILIES, library)
        FAMILIES[library] = Family(function, open)
        return function

    return register


def decorator(*dotted: str) -> Callable[[_D], _D]:
    """Register a model of decorators."""

    def register(function: _D) -> _D:
        for path in dotted:
            _refuse_second(DECORATORS, path)
            DECORATORS[path] = function
        return function

    return register


def method(
    receiver_type: type[_R], *method_names: str
) -> Callable[[Callable[[Interpreter, _R, Call], Value]], Callable[[Interpreter, _R, Call], Value]]:
    """Register a model of methods of the values of a type; `open` as in `model`."""

    def register(
        implementation: Callable[[Interpreter, _R, Call], Value],
    ) -> Callable[[Interpreter, _R, Call], Value]:
        for name in method_names:
            _refuse_second(METHODS, (receiver_type, name))
            METHODS[(receiver_type, name)] = implementation
        return implementation

    return register


def methods_of(*receiver_types: type) -> Callable[[_V], _V]:
    """Register a model of all methods of some types that have no model of their own."""

    def register(function: _V) -> _V:
        for receiver_type in receiver_types:
            _refuse_second(RECEIVERS, receiver_type)
            RECEIVERS[receiver_type] = function
        return function

    return register


def base(*dotted_names: str) -> Callable[[_B], _B]:
    """Register the library part of instances whose class derives from one of these classes."""

    def register(function: _B) -> _B:
        for path in dotted_names:
            _refuse_second(BASES, path)
            BASES[path] = function
        return function

    return register


def base_family(library: str) -> Callable[[_A], _A]:
    """Register the library part of instances whose class derives from any other library class."""

    def register(function: _A) -> _A:
        _refuse_second(BASE_FAMILIES, library)
        BASE_FAMILIES[library] = function
        return function

    return register


def transparent(*decorators: str, when_called: bool = False) -> None:
    """Register decorators that return the function or class unchanged, with options or without.

    Each is a dotted name, or ``library.*``. `when_called` says that they do so where they are
    called as functions, too.
    """
    TRANSPARENT_DECORATORS.update(decorators)
    if when_called:
        TRANSPARENT_CALLS.update(decorators)


def result_kind(kind: str, *dotted_names: str) -> None:
    """Register functions whose results are unknown except for the name of their type."""
    for path in dotted_names:
        _refuse_second(KINDS, path)
        KINDS[path] = kind


def function_of(path: str) -> Entry | None:
    """The model of a function or class."""
    _load(path)
    return FUNCTIONS.get(path)


def family_of(library: str) -> Family | None:
    """The model of everything in a library that has no model of its own."""
    _load(library)
    return FAMILIES.get(library)


def decorator_of(path: str) -> DecoratorModel | None:
    """The model of a decorator."""
    _load(path)
    return DECORATORS.get(path)


def kind_of(path: str) -> str | None:
    """The name of the type of a function's result."""
    _load(path)
    return KINDS.get(path)


def base_family_of(library: str) -> BaseFamily | None:
    """The model of any other library class that classes derive from."""
    _load(library)
    return BASE_FAMILIES.get(library)


def base_of(path: str) -> BaseModel | None:
    """The model of a library class that classes derive from."""
    _load(path)
    return BASES.get(path)


def is_transparent(path: str, *, when_called: bool = False) -> bool:
    """Whether a decorator returns the function unchanged; `when_called` as in `transparent`."""
    _load(path)
    return covers(TRANSPARENT_CALLS if when_called else TRANSPARENT_DECORATORS, path)


def covers(registered: Collection[str], path: str) -> bool:
    """Whether a dotted name is registered, or its library or class is as ``library.*``."""
    if path in registered:
        return True
    while "." in path:
        path = path.rpartition(".")[0]
        if f"{path}.*" in registered:
            return True
    return False


@cache
def start() -> None:
    """Import the models that every program needs: builtins, and torch."""
    for package in (builtins, torch):
        for name in modules_in(package.__path__):
            importlib.import_module(f"{package.__name__}.{name}")


def discover() -> None:
    """Import all models."""
    start()
    for library in _libraries():
        _import_model(library)


def _load(path: str) -> None:
    """Import the model of the library at the start of a dotted name, if there is one."""
    _import_model(path.partition(".")[0])


@cache
def _import_model(library: str) -> None:
    module = _libraries().get(library)
    if module is not None:
        importlib.import_module(module)


@cache
def _libraries() -> Mapping[str, str]:
    """The modules that model libraries, by the names of the libraries."""
    return {
        library: f"{package.__name__}.{library}"
        for package in (standard_library, third_party)
        for library in modules_in(package.__path__)
    }


def _refuse_second(models: Collection[_K], key: _K) -> None:
    if key in models:
        raise DuplicateModel(f"there are two models of {key}")
