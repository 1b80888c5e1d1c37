"""What mypy is taught of names: the legacy API of named tensors, read from the table of operators.

torch 2.13 dropped it from its stubs. `Vocabulary` answers mypy's questions for hooks; mypy asks
some hundred thousand times in a run, so that an answer is a look-up, and no row of the table is
read before a call asks for it.
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
"""The classes in which torch's stubs keep what is called ``Tensor.x``."""

# The modules in which they keep what is called ``torch.x``.
_MODULES: Final = ("torch._C._VariableFunctions.", "torch.functional.", "torch.")

MethodSignature = Callable[[MethodSigContext], FunctionLike]
FunctionSignature = Callable[[FunctionSigContext], FunctionLike]


class Vocabulary:
    """The hooks that teach mypy the words of named tensors; None where nothing is to be said."""

    def __init__(self) -> None:
        self._methods: dict[str, MethodSignature | None] = {}
        self._functions: dict[str, FunctionSignature | None] = {}

    def base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Tensor itself gets the methods that torch dropped, and ``names``."""
        return _restore if fullname == OWNERS[0] else None

    def function_signature_hook(self, fullname: str) -> FunctionSignature | None:
        """``torch.x`` and ``torch.nn.functional.x`` take names."""
        if not fullname.startswith("torch."):
            return None
        if fullname not in self._functions:
            self._functions[fullname] = _function(fullname)
        return self._functions[fullname]

    def method_signature_hook(self, fullname: str) -> MethodSignature | None:
        """``Tensor.x`` takes names, and so does a method that a subclass has from it."""
        name = fullname[fullname.rfind(".") + 1 :]
        if name not in self._methods:
            self._methods[name] = _method(name)
        return self._methods[name]

    def method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """The call of a module gives what its ``forward`` declares."""
        if not fullname.endswith(".__call__"):
            return None
        from namecheck_mypy.vocabulary import module_calls

        return module_calls.result


def _restore(ctx: ClassDefContext) -> None:
    from namecheck_mypy.vocabulary import naming_api

    naming_api.restore(ctx)


def _function(fullname: str) -> FunctionSignature | None:
    name = next((fullname.removeprefix(m) for m in _MODULES if fullname.startswith(m)), "")
    if not _may_speak(name):
        return None
    from namecheck_mypy.vocabulary import rows, signatures

    spoken = rows.function(name)
    return signatures.NamedCalls(name, spoken).function if spoken else None


def _method(name: str) -> MethodSignature | None:
    if not _may_speak(name):
        return None
    from namecheck_mypy.vocabulary import rows, signatures

    spoken = rows.method(name)
    return signatures.NamedCalls(name, spoken).method if spoken else None


def _may_speak(name: str) -> bool:
    from namecheck_mypy.vocabulary import lines

    return name in lines.spoken() or name.removesuffix("_") in lines.spoken()
