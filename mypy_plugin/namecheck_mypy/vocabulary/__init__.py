"""What mypy is taught of names: the legacy API of named tensors, read from the table of operators.

torch 2.13 dropped it from its stubs. `Vocabulary` answers mypy's questions for hooks; mypy asks
some hundred thousand times in a run, so that an answer is a look-up, and no row of the table is
read before a call asks for it.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.plugin import (
    ClassDefContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
)
from mypy.types import FunctionLike, Type

from namecheck_mypy.vocabulary import module_calls, naming_api, rows
from namecheck_mypy.vocabulary.signatures import NamedCalls

MethodSignature = Callable[[MethodSigContext], FunctionLike]
FunctionSignature = Callable[[FunctionSigContext], FunctionLike]


class Vocabulary:
    """The hooks that teach mypy the words of named tensors; None where nothing is to be said."""

    def __init__(self) -> None:
        self._methods: dict[str, MethodSignature | None] = {}
        self._functions: dict[str, FunctionSignature | None] = {}

    def base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Tensor itself gets the methods that torch dropped, and ``names``."""
        return naming_api.restore if fullname == "torch._C.TensorBase" else None

    def function_signature_hook(self, fullname: str) -> FunctionSignature | None:
        """``torch.x`` and ``torch.nn.functional.x`` take names."""
        if not fullname.startswith("torch."):
            return None
        try:
            return self._functions[fullname]
        except KeyError:
            spoken = rows.function(fullname)
            hook = self._functions[fullname] = (
                NamedCalls(fullname, spoken).function if spoken else None
            )
            return hook

    def method_signature_hook(self, fullname: str) -> MethodSignature | None:
        """``Tensor.x`` takes names, and so does a method that a subclass has from it."""
        if fullname.startswith("builtins."):
            return None
        name = fullname[fullname.rfind(".") + 1 :]
        try:
            return self._methods[name]
        except KeyError:
            spoken = rows.method(name)
            hook = self._methods[name] = NamedCalls(name, spoken).method if spoken else None
            return hook

    def method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """The call of a module gives what its ``forward`` declares."""
        return module_calls.result if fullname.endswith(".__call__") else None
