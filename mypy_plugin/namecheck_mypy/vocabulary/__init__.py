"""Types for the named-tensor API, which torch 2.13 dropped from its stubs.

The types are read from the operator table. mypy looks hooks up some hundred thousand times in a
run, so each answer of `Vocabulary` is a dict look-up, and a row is read at its first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy.plugin import (
    ClassDefContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
)
from mypy.types import FunctionLike, Type

OWNERS: Final = ("torch._C.TensorBase", "torch._tensor.Tensor")
"""The classes in which torch's stubs define ``Tensor.x``."""

# The modules in which they define ``torch.x``.
_MODULES: Final = ("torch._C._VariableFunctions.", "torch.functional.", "torch.")

MethodSignature = Callable[[MethodSigContext], FunctionLike]
FunctionSignature = Callable[[FunctionSigContext], FunctionLike]


class Vocabulary:
    """The hooks for the named-tensor API; None for a name that needs no hook."""

    def __init__(self) -> None:
        self._methods: dict[str, MethodSignature | None] = {}
        self._functions: dict[str, FunctionSignature | None] = {}

    def base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Adds the methods that torch dropped, and ``names``, to Tensor."""
        return _restore if fullname == OWNERS[0] else None

    def function_signature_hook(self, fullname: str) -> FunctionSignature | None:
        """Lets ``torch.x`` and ``torch.nn.functional.x`` take names."""
        if not fullname.startswith("torch."):
            return None
        if fullname not in self._functions:
            self._functions[fullname] = _function(fullname)
        return self._functions[fullname]

    def method_signature_hook(self, fullname: str) -> MethodSignature | None:
        """Lets ``Tensor.x`` take names, also if a subclass inherits it."""
        name = fullname[fullname.rfind(".") + 1 :]
        if name not in self._methods:
            self._methods[name] = _method(name)
        return self._methods[name]

    def method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Gives the call of a module the declared result of its ``forward``."""
        if not fullname.endswith(".__call__"):
            return None
        from namecheck_mypy.vocabulary import module_calls

        return module_calls.result


def _restore(ctx: ClassDefContext) -> None:
    from namecheck_mypy.vocabulary import naming_api

    naming_api.restore(ctx)


def _function(fullname: str) -> FunctionSignature | None:
    name = next((fullname.removeprefix(m) for m in _MODULES if fullname.startswith(m)), "")
    if not _may_take_names(name):
        return None
    from namecheck_mypy.vocabulary import rows, signatures

    named_parameters = rows.function(name)
    return signatures.NamedCalls(name, named_parameters).function if named_parameters else None


def _method(name: str) -> MethodSignature | None:
    if not _may_take_names(name):
        return None
    from namecheck_mypy.vocabulary import rows, signatures

    named_parameters = rows.method(name)
    return signatures.NamedCalls(name, named_parameters).method if named_parameters else None


def _may_take_names(name: str) -> bool:
    from namecheck_mypy.vocabulary import lines

    return name in lines.keys_with_names() or name.removesuffix("_") in lines.keys_with_names()
