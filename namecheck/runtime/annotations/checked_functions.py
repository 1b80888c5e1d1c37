"""Checks annotated functions at their entry and their return.

`checked` wraps a function: its arguments must fit its annotations and each other, and so must its
result (docs/runtime-assertions.md). The wrapper is generated for the parameters of the function.
It looks shapes and names up in a memo; `namecheck.annotations` checks what is not in the memo.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections import ChainMap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType, FunctionType
from typing import Any, Final, TypeVar, cast

import torch

from namecheck.annotations import Bindings, settle
from namecheck.annotations.declarations import Every, Value, meet
from namecheck.core.names import Contradiction
from namecheck.runtime.annotations import check_source, violations
from namecheck.runtime.annotations.check_source import Parameters
from namecheck.runtime.annotations.contracts import Contract, Unresolved, read_contract
from namecheck.runtime.annotations.violations import abstract_value, has_constant_sizes
from namecheck.runtime.core import modes

T = TypeVar("T")

# Calls with more shapes than that have data-dependent sizes; the memo is then cleared.
MOST_CALLS: Final = 1024
MOST_RESULTS: Final = 64

_MARK: Final = "__namecheck_checker__"


def checked(target: T) -> T:
    """Check an annotated function at every call; for a class, the functions defined in it.

    Accepts functions of every kind, and `staticmethod`, `classmethod` and `property` objects.
    Returns its argument unchanged if nothing is annotated, or with ``NAMECHECK=off``.
    """
    if modes.switched_off():
        return target
    return cast(T, _checked(target, sys._getframe(1), final=False))


def checked_as_is(function: T) -> T:
    """Check a function whose annotations use no name that is defined after it."""
    return cast(T, _checked(function, sys._getframe(1), final=True))


def _checked(target: Any, frame: FrameType | None, *, final: bool) -> Any:
    if isinstance(target, FunctionType):
        return _function(target, frame, final=final)
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(_checked(target.__func__, frame, final=final))
    if isinstance(target, property):
        accessors = target
        for method, accessor in (("getter", target.fget), ("setter", target.fset)):
            if accessor is not None:
                accessors = getattr(accessors, method)(_checked(accessor, frame, final=final))
        return accessors
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
    """Check the ``__init__`` that a decorator generated from the annotations of fields."""
    generated = vars(cls).get("__init__") if isinstance(cls, type) else None
    if isinstance(generated, FunctionType) and generated.__code__.co_filename.startswith("<"):
        cls.__init__ = _function(generated, None, final=True)  # type: ignore[misc]
    return cls


def _function(function: FunctionType, frame: FrameType | None, *, final: bool) -> FunctionType:
    if hasattr(function, _MARK):
        return function
    try:
        declared = _contract(function, frame, final=final)
    except Unresolved:
        return Checker(function, None).wrapper
    return Checker(function, declared).wrapper if declared.declares_dims else function


def _contract(function: FunctionType, frame: FrameType | None, *, final: bool) -> Contract:
    """The contract of a function; strings may use its globals and the scopes around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: cell.cell_contents for name, cell in cells if not _is_empty(cell)}
    inner = ChainMap(closed, *_locals(function, frame))
    declared = read_contract(_annotations(function), function.__globals__, inner, final=final)
    for name, fault in declared.faults:
        _warn(function, name, fault)
    stars = Parameters.of(function).stars
    if not any(name in stars for name in declared.parameters):
        return declared
    parameters = {
        name: Every(each) if name in stars else each for name, each in declared.parameters.items()
    }
    return replace(declared, parameters=parameters)


def _warn(function: FunctionType, name: str, fault: str) -> None:
    """Warn at the definition of a function that an annotation is not checked."""
    code = function.__code__
    whose = "its result" if name == "return" else f"'{name}'"
    warnings.warn_explicit(
        f"{function.__qualname__}: the annotation of {whose} is not checked: {fault}",
        UserWarning,
        code.co_filename,
        code.co_firstlineno,
    )


def _locals(function: FunctionType, frame: FrameType | None) -> Iterator[dict[str, Any]]:
    """The locals of the classes and of the function around the definition of a function."""
    while frame is not None and frame.f_globals is function.__globals__:
        yield frame.f_locals
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return
        frame = frame.f_back


def _annotations(function: FunctionType) -> Mapping[str, Any]:
    """The annotations, as strings if Python 3.14 cannot evaluate them yet."""
    try:
        return function.__annotations__
    except NameError:
        lib = importlib.import_module("annotationlib")
        annotations: Mapping[str, Any] = lib.get_annotations(function, format=lib.Format.STRING)
        return annotations


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


class AcceptedResults(dict[Hashable, bool]):
    """The results that fit after one kind of call, by their keys; the bindings of that call."""

    __slots__ = ("bindings",)

    def __init__(self, bindings: Bindings | None) -> None:
        self.bindings = bindings


_CONTRADICTED: Final = AcceptedResults(None)


class Checker:
    """The check of one function; `wrapper` replaces it, and calls this object for a new shape."""

    compiling = staticmethod(torch.compiler.is_dynamo_compiling)
    getattr = getattr
    key_of = staticmethod(check_source.key_of)
    key_with_device = staticmethod(check_source.key_with_device)
    KeyError = KeyError
    KeyErrors = check_source.KEY_ERRORS

    def __init__(self, function: FunctionType, contract: Contract | None) -> None:
        self.function = function
        self.contract = contract
        self.memo: dict[Hashable, AcceptedResults] = {}
        self.name = function.__qualname__.rpartition("<locals>.")[2]
        self.at_entry, self.at_return = check_source.callbacks(self)
        self.wrapper = check_source.make_wrapper(self, function)
        setattr(self.wrapper, _MARK, self)

    def prepare(self) -> None:
        """Generate the code of the wrapper, before its first call."""
        self.wrapper.__code__ = check_source.code_of(self.function, self.declared)

    def declared_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The declared arguments of a function whose own signature is ``*args, **kwargs``."""
        parameters = self.declared.parameters
        return check_source.declared_arguments(self.function, parameters, args, kwargs)

    @property
    def declared(self) -> Contract:
        """The contract; strings are evaluated at the first call, when all names are defined."""
        if self.contract is None:
            self.contract = _contract(self.function, None, final=True)
        return self.contract

    def enter(self, key: Hashable, values: Sequence[Any]) -> AcceptedResults:
        """Check the declared arguments of a call; the results that fit after such a call."""
        arguments = tuple(map(abstract_value, values))
        bindings = self.check_arguments(arguments)
        if bindings is None:
            return _CONTRADICTED
        accepted = AcceptedResults(bindings)
        if key is not None and has_constant_sizes(arguments):
            if len(self.memo) >= MOST_CALLS:
                self.memo.clear()
            self.memo[key] = accepted
        return accepted

    def leave(self, accepted: AcceptedResults, key: Hashable, result: Any) -> None:
        """Check a result that is not yet among the accepted ones."""
        if accepted.bindings is None:
            return
        value = abstract_value(result)
        fits = self.check_result(accepted.bindings, value)
        if fits and key is not None and has_constant_sizes(value):
            if len(accepted) >= MOST_RESULTS:
                accepted.clear()
            accepted[key] = True

    def check_arguments(self, argument_values: tuple[Value, ...]) -> Bindings | None:
        """The bindings of a call with these arguments, None after reporting a contradiction."""
        bindings = self.bound(argument_values)
        if isinstance(bindings, Bindings):
            return bindings
        violations.report_arguments(bindings, self.function)
        return None

    def check_result(self, bindings: Bindings, result: Value) -> bool:
        """Whether a result fits; reports a contradiction."""
        contradiction = self._contradiction(bindings, result)
        if contradiction is not None:
            violations.report_result(contradiction, self.function)
        return contradiction is None

    def bound(self, argument_values: tuple[Value, ...]) -> Bindings | Contradiction:
        """The bindings of a call with these arguments, or the contradiction between them."""
        bindings, parameters = Bindings(self.name), self.declared.parameters
        try:
            for (name, declared), value in zip(parameters.items(), argument_values, strict=True):
                bindings = meet(declared, value, bindings, name)
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
