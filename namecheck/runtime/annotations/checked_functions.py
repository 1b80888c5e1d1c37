"""Annotated functions, checked where they are entered and where they return.

`checked` puts a wrapper around a function: the arguments must fit its annotations, and one
another, and so must the result (docs/runtime-assertions.md). The wrapper is written out for the
function's parameters and asks one question of a call that it has seen the like of: whether it
knows these shapes and names. Everything else is asked of `namecheck.annotations`.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections import ChainMap
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from types import FrameType, FunctionType
from typing import Any, Final, TypeVar, cast

import torch

from namecheck.annotations import Bindings, settle
from namecheck.annotations.declarations import Every, Value, meet
from namecheck.core.names import Contradiction
from namecheck.runtime.annotations import check_source, violations
from namecheck.runtime.annotations.check_source import Parameters
from namecheck.runtime.annotations.contracts import Contract, Unresolved, contract
from namecheck.runtime.annotations.violations import given, is_sized
from namecheck.runtime.core import modes

T = TypeVar("T")

# More shapes than that are data. Then all are forgotten.
MOST_CALLS: Final = 1024
MOST_RESULTS: Final = 64

_MARK: Final = "__namecheck_checker__"


def checked(target: T) -> T:
    """Check an annotated function in every call; of a class, the functions defined in it.

    Takes functions of every kind, and what `staticmethod`, `classmethod` and `property` make of
    them. Gives back what it was given where nothing is annotated, or ``NAMECHECK=off``.
    """
    if modes.switched_off():
        return target
    return cast(T, _checked(target, sys._getframe(1), final=False))


def checked_as_is(function: T) -> T:
    """Check a function whose annotations speak of nothing that is defined after it."""
    return cast(T, _checked(function, sys._getframe(1), final=True))


def _checked(target: Any, frame: FrameType | None, *, final: bool) -> Any:
    if isinstance(target, FunctionType):
        return _function(target, frame, final=final)
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(_checked(target.__func__, frame, final=final))
    if isinstance(target, property):
        made = target
        for place, accessor in (("getter", target.fget), ("setter", target.fset)):
            if accessor is not None:
                made = getattr(made, place)(_checked(accessor, frame, final=final))
        return made
    if isinstance(target, type):
        for name, value in list(vars(target).items()):
            if isinstance(value, (FunctionType, staticmethod, classmethod, property)):
                setattr(target, name, _checked(value, frame, final=final))
        return target
    raise TypeError(
        f"checked() takes a function or a class, not a {type(target).__name__}; of several "
        "decorators it is the lowest"
    )


def check_generated(cls: T) -> T:
    """Check the ``__init__`` that a decorator wrote for a class, from its fields' annotations."""
    made = vars(cls).get("__init__") if isinstance(cls, type) else None
    if isinstance(made, FunctionType) and made.__code__.co_filename.startswith("<"):
        cls.__init__ = _function(made, None, final=True)  # type: ignore[misc]
    return cls


def _function(function: FunctionType, frame: FrameType | None, *, final: bool) -> FunctionType:
    if hasattr(function, _MARK):
        return function
    try:
        found = _contract(function, frame, final=final)
    except Unresolved:
        return Checker(function, None).stand_in
    return Checker(function, found).stand_in if found.speaks else function


def _contract(function: FunctionType, frame: FrameType | None, *, final: bool) -> Contract:
    """What a function declares; strings may speak of its globals, and of what is around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: cell.cell_contents for name, cell in cells if not _is_empty(cell)}
    inner = ChainMap(closed, *_locals(function, frame))
    found = contract(_annotations(function), function.__globals__, inner, final=final)
    for name, fault in found.faults:
        _warn(function, name, fault)
    own = Parameters.of(function)
    stars = {name: Every(told) for name, told in found.parameters.items() if name in own.stars}
    return replace(found, parameters={**found.parameters, **stars}) if stars else found


def _warn(function: FunctionType, name: str, fault: str) -> None:
    """Tell that an annotation is not checked, at the definition of its function."""
    code = function.__code__
    whose = "its result" if name == "return" else f"'{name}'"
    warnings.warn_explicit(
        f"{function.__qualname__}: the annotation of {whose} is not checked: {fault}",
        UserWarning,
        code.co_filename,
        code.co_firstlineno,
    )


def _locals(function: FunctionType, frame: FrameType | None) -> Iterator[dict[str, Any]]:
    """The locals of the classes and of the function that a function is being defined in."""
    while frame is not None and frame.f_globals is function.__globals__:
        yield frame.f_locals
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return
        frame = frame.f_back


def _annotations(function: FunctionType) -> Mapping[str, Any]:
    """The annotations, as strings where Python 3.14 cannot evaluate them yet."""
    try:
        return function.__annotations__
    except NameError:
        lib = importlib.import_module("annotationlib")
        found: Mapping[str, Any] = lib.get_annotations(function, format=lib.Format.STRING)
        return found


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


class Known(dict[Hashable, bool]):
    """The results that are known to fit after one kind of call; what was bound at its entry."""

    __slots__ = ("bindings",)

    def __init__(self, bindings: Bindings | None) -> None:
        self.bindings = bindings


_CONTRADICTED: Final = Known(None)


class Checker:
    """The check of one function: `stand_in` takes its place, and asks this object for the rest."""

    compiling = staticmethod(torch.compiler.is_dynamo_compiling)
    getattr = getattr
    part = staticmethod(check_source.part)
    placed = staticmethod(check_source.placed)
    KeyError = KeyError
    Shapeless = check_source.SHAPELESS

    def __init__(self, function: FunctionType, found: Contract | None) -> None:
        self.function = function
        self.contract = found
        self.memo: dict[Hashable, Known] = {}
        self.name = function.__qualname__.rpartition("<locals>.")[2]
        self.at_entry, self.at_return = check_source.callbacks(self)
        self.stand_in = check_source.make(self, function)
        setattr(self.stand_in, _MARK, self)

    def prepare(self) -> None:
        """Write the stand-in out, before its first call."""
        self.stand_in.__code__ = check_source.code_of(self.function, self.declared)

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The declared arguments, where the function only hands its arguments on to another."""
        return check_source.values(self.function, self.declared.parameters, args, kwargs)

    @property
    def declared(self) -> Contract:
        """What the function declares, settled at its first call: by then all names are defined."""
        if self.contract is None:
            self.contract = _contract(self.function, None, final=True)
        return self.contract

    def enter(self, key: Hashable, values: tuple[Any, ...]) -> Known:
        """What is known of a call with these values of the declared parameters."""
        told = tuple(map(given, values))
        bindings = self.check_arguments(told)
        if bindings is None:
            return _CONTRADICTED
        known = Known(bindings)
        if key is not None and is_sized(told):
            if len(self.memo) >= MOST_CALLS:
                self.memo.clear()
            self.memo[key] = known
        return known

    def leave(self, known: Known, key: Hashable, result: Any) -> None:
        """Check a result that was not met before after such a call."""
        if known.bindings is None:
            return
        told = given(result)
        if self.check_result(known.bindings, told) and key is not None and is_sized(told):
            if len(known) >= MOST_RESULTS:
                known.clear()
            known[key] = True

    def check_arguments(self, values: tuple[Value, ...]) -> Bindings | None:
        """What a call with these values binds; None where it was told that they do not fit."""
        bindings = self.bound(values)
        if isinstance(bindings, Bindings):
            return bindings
        violations.refuse_arguments(bindings, self.function)
        return None

    def check_result(self, bindings: Bindings, result: Value) -> bool:
        """Whether a result fits; else that is told."""
        contradiction = self._contradiction(bindings, result)
        if contradiction is not None:
            violations.refuse_result(contradiction, self.function)
        return contradiction is None

    def bound(self, values: tuple[Value, ...]) -> Bindings | Contradiction:
        """What a call with these values binds, or what contradicts."""
        bindings, declared = Bindings(self.name), self.declared.parameters
        try:
            for (name, told), value in zip(declared.items(), values, strict=True):
                bindings = meet(told, value, bindings, name)
            return settle(bindings)
        except Contradiction as contradiction:
            return contradiction.alone()

    def trace_arguments(self, context: Any) -> None:
        """Check the arguments of a call that torch.compile traces, in its context."""
        from namecheck.runtime.annotations import (
            traced_checks,  # only torch.compile needs its tracer
        )

        traced_checks.enter(self, context)

    def trace_result(self, context: Any) -> None:
        """Check the result of such a call."""
        from namecheck.runtime.annotations import traced_checks

        traced_checks.leave(self, context)

    def _contradiction(self, bindings: Bindings, result: Value) -> Contradiction | None:
        declared = self.declared.result
        try:
            settle(meet(declared, result, bindings, "result", returned=True))
        except Contradiction as contradiction:
            return contradiction.alone()
        return None
