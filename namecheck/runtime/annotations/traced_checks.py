"""Checked functions in what torch.compile traces: looked at once for each trace, on fake tensors.

What is traced is the function alone, with two calls of `comptime`, which leave nothing in the
graph. A size that may vary from call to call is compared as it is in this call; the graph then
holds for sizes that compare in the same way, and others are traced anew.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any, Protocol

import torch
from torch._dynamo.comptime import ComptimeContext
from torch._dynamo.variables import TensorVariable

from namecheck.annotations import Bindings
from namecheck.annotations.declarations import Value
from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.tensors import Tensor
from namecheck.runtime.annotations import check_source
from namecheck.runtime.annotations.contracts import Contract
from namecheck.runtime.annotations.violations import given
from namecheck.runtime.compilation import dynamo_hooks
from namecheck.runtime.core.errors import Contradicted


class Checker(Protocol):
    """The check of one function, as far as a trace asks it."""

    function: FunctionType

    @property
    def declared(self) -> Contract:
        """What the function declares."""

    def bound(self, values: tuple[Value, ...]) -> Bindings | Contradiction:
        """The bindings of a call with these arguments, or what contradicts."""

    def check_arguments(self, values: tuple[Value, ...]) -> Bindings | None:
        """The bindings of such a call, None after a contradiction was reported."""

    def check_result(self, bindings: Bindings, result: Value) -> bool:
        """Whether a result fits; a contradiction is reported."""


def enter(checker: Checker, context: ComptimeContext) -> None:
    """Check the arguments of a call that is being traced."""
    _judge(context, lambda: checker.check_arguments(_arguments(checker, context)))


def leave(checker: Checker, context: ComptimeContext) -> None:
    """Check the result of such a call."""
    bindings = checker.bound(_arguments(checker, context))
    if isinstance(bindings, Bindings):
        returned = _local(context, check_source.result_name(checker.function))
        _judge(context, lambda: checker.check_result(bindings, returned))


def _judge(context: ComptimeContext, check: Callable[[], object]) -> None:
    tx: Any = context._i_will_not_complain_if_bc_breaks_InstructionTranslator()
    with dynamo_hooks.telling(tx):
        try:
            check()
        except Contradicted as error:
            raise dynamo_hooks.traced(error) from None


def _arguments(checker: Checker, context: ComptimeContext) -> tuple[Value, ...]:
    return tuple(_local(context, name) for name in checker.declared.parameters)


def _local(context: ComptimeContext, name: str) -> Value:
    try:
        variable = context.get_local(name)
    except KeyError:
        return UNKNOWN
    return _known(variable._i_will_not_complain_if_bc_breaks_VariableTracker())


def _known(variable: Any) -> Value:
    """What is known of a traced value: its fake tensor, its parts, or that it is None."""
    variable = variable.realize()
    if isinstance(variable, TensorVariable):
        return _of_fake(variable.as_proxy().node.meta.get("example_value"))
    if variable.is_python_constant() and variable.as_python_constant() is None:
        return None
    items = getattr(variable, "items", None)
    if isinstance(items, dict):
        return {str(key.vt.as_python_constant()): _known(item) for key, item in items.items()}
    if isinstance(items, (list, tuple)):
        return tuple(map(_known, items))
    return UNKNOWN


def _of_fake(fake: Any) -> Value:
    told = given(fake)
    if not isinstance(told, Tensor) or told.dims.open:
        return told
    dims = tuple(map(_sized, told.dims.prefix, fake.shape))
    return replace(told, dims=Dims(dims))


def _sized(dim: Dim, size: Any) -> Dim:
    if isinstance(size, torch.SymInt) and size.node.has_hint():
        return replace(dim, size=Varying(size))
    return dim


def _symbol(size: Any) -> Any:
    return size.symbol if isinstance(size, Varying) else size


def _computing(compute: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator on sizes that vary, and the same with its operands exchanged."""

    def computed(left: Any, right: Any) -> Any:
        result = compute(_symbol(left), _symbol(right))
        return Varying(result) if isinstance(result, torch.SymInt) else result

    return computed, lambda right, left: computed(left, right)


class Varying(int):
    """A size that is a number in this call: to compare it is to compile for what came out."""

    symbol: Any

    def __new__(cls, symbol: Any) -> Varying:
        """The size that is traced as this symbol."""
        size = super().__new__(cls, symbol.node.hint)
        size.symbol = symbol
        return size

    def __eq__(self, other: object) -> bool:
        return bool(self.symbol == _symbol(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__
    __add__, __radd__ = _computing(operator.add)
    __sub__, __rsub__ = _computing(operator.sub)
    __mul__, __rmul__ = _computing(operator.mul)
    __floordiv__, __rfloordiv__ = _computing(operator.floordiv)
    __mod__, __rmod__ = _computing(operator.mod)
