"""Checks of annotated functions under torch.compile, once for each trace, on fake tensors.

The traced code is the function itself and two calls of `comptime`, which leave no node in the
graph. A dynamic size is compared with its value in this call, which guards the graph: sizes that
compare differently cause a new trace.
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
from namecheck.runtime.annotations.violations import abstract_value
from namecheck.runtime.compilation import dynamo_hooks
from namecheck.runtime.core.errors import Contradicted


class Checker(Protocol):
    """The check of one function, as far as a trace asks it."""

    function: FunctionType

    @property
    def declared(self) -> Contract:
        """What the function declares."""

    def bound(self, argument_values: tuple[Value, ...]) -> Bindings | Contradiction:
        """The bindings of a call with these arguments, or what contradicts."""

    def check_arguments(self, argument_values: tuple[Value, ...]) -> Bindings | None:
        """The bindings of such a call, None after a contradiction was reported."""

    def check_result(self, bindings: Bindings, result: Value) -> bool:
        """Whether a result fits; a contradiction is reported."""


def enter(checker: Checker, context: ComptimeContext) -> None:
    """Check the arguments of a traced call."""
    _report_at_trace(context, lambda: checker.check_arguments(_arguments(checker, context)))


def leave(checker: Checker, context: ComptimeContext) -> None:
    """Check the result of a traced call."""
    bindings = checker.bound(_arguments(checker, context))
    if isinstance(bindings, Bindings):
        returned = _local(context, check_source.result_name(checker.function))
        _report_at_trace(context, lambda: checker.check_result(bindings, returned))


def _report_at_trace(context: ComptimeContext, check: Callable[[], object]) -> None:
    tx: Any = context._i_will_not_complain_if_bc_breaks_InstructionTranslator()
    with dynamo_hooks.reporting_at(tx):
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
    return _abstract_value(variable._i_will_not_complain_if_bc_breaks_VariableTracker())


def _abstract_value(variable: Any) -> Value:
    """The abstract value of a traced value: of its fake tensor, of its parts, or None."""
    variable = variable.realize()
    if isinstance(variable, TensorVariable):
        return _of_fake(variable.as_proxy().node.meta.get("example_value"))
    if variable.is_python_constant() and variable.as_python_constant() is None:
        return None
    items = getattr(variable, "items", None)
    if isinstance(items, dict):
        return {
            str(key.vt.as_python_constant()): _abstract_value(item) for key, item in items.items()
        }
    if isinstance(items, (list, tuple)):
        return tuple(map(_abstract_value, items))
    return UNKNOWN


def _of_fake(fake: Any) -> Value:
    tensor = abstract_value(fake)
    if not isinstance(tensor, Tensor) or tensor.dims.open:
        return tensor
    dims = tuple(map(_sized, tensor.dims.prefix, fake.shape))
    return replace(tensor, dims=Dims(dims))


def _sized(dim: Dim, extent: Any) -> Dim:
    if isinstance(extent, torch.SymInt) and extent.node.has_hint():
        return replace(dim, size=DynamicSize(extent))
    return dim


def _symbol(value: Any) -> Any:
    return value.symbol if isinstance(value, DynamicSize) else value


def _computing(compute: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator on dynamic sizes, and its reflected form."""

    def computed(operand: Any, other_operand: Any) -> Any:
        result = compute(_symbol(operand), _symbol(other_operand))
        return DynamicSize(result) if isinstance(result, torch.SymInt) else result

    return computed, lambda right, left: computed(left, right)


class DynamicSize(int):
    """A size with its value in this call; comparing it guards the graph with the outcome."""

    symbol: Any

    def __new__(cls, symbol: Any) -> DynamicSize:
        """The size of this symbol."""
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
