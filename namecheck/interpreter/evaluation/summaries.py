"""Calls that were followed before, with the same arguments: what came of them is told again.

Without it a chain of helpers that each call the next one twice costs twice as much with every
helper. A call is remembered if it depends on nothing but what can be compared, and changes
nothing: its arguments are tensors, constants and tuples of them, no path of it ended in an error
or was cut short, and it wrote to nothing that was there before. All that it read of that is
remembered with it, and has to be the same.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dim
from namecheck.core.names import Axis
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import ABSENT, Store, owner_of
from namecheck.interpreter.domain.values import (
    Const,
    FunctionValue,
    Held,
    TensorValue,
    TupleValue,
    Value,
)

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.frames import Call
    from namecheck.interpreter.evaluation.interpreter import Interpreter

# How many sets of arguments are remembered of one function.
_EACH: Final = 16


@dataclass(frozen=True, slots=True)
class _Argument:
    """The argument with this number, handed back."""

    number: int


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What came of a call, and what it read of what was there before.

    In the result a new tensor stands as what it holds, an argument as its number.
    """

    result: Any
    reads: tuple[tuple[Hashable, Any], ...]


class _Untellable(Exception):
    """A value that cannot be told again."""


class CallSummaries:
    """Remembers calls of the functions of one analysis."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._known: dict[Hashable, list[_Recalled]] = {}

    def call(self, function: FunctionValue, call: Call, follow: Callable[[], Value]) -> Value:
        """What a call gives: remembered, or by following it."""
        key = self._key(function, call)
        if key is None:
            return follow()
        for known in self._known.get(key, ()):
            if all(call.store.get(cell, ABSENT) == content for cell, content in known.reads):
                return self._told(known.result, call)
        interpreter, ledger = self._interpreter, self._interpreter.context.ledger
        begun, events = ledger.new(), interpreter.progress.events
        with ledger.reading() as reads, ledger.logging() as writes:
            result = follow()
        changed = any(not self._is_own(cell, begun) for cell, _ in writes)
        if changed or interpreter.progress.events != events or interpreter.budget.left <= 0:
            return result
        arguments = [value.address for value in _given(call) if isinstance(value, TensorValue)]
        kept = self._known.setdefault(key, [])
        if len(kept) < _EACH:
            try:
                told = self._tellable(result, call, begun)
            except _Untellable:
                return result
            read = (
                (cell, content)
                for cell, content in reads.items()
                if not self._is_own(cell, begun) and owner_of(cell) not in arguments
            )
            kept.append(_Recalled(told, tuple(read)))
        return result

    def _key(self, function: FunctionValue, call: Call) -> Hashable | None:
        """What is the same for calls that may give the same; None for what is not remembered."""
        interpreter = self._interpreter
        if interpreter.context.recorder is not None or call.arguments.open:
            return None
        if not isinstance(function.environment.scope, ast.Module):
            return None
        if interpreter.declarations.speak(function):
            return None
        values = _given(call)
        places = {
            value.address: number
            for number, value in reversed(list(enumerate(values)))
            if isinstance(value, TensorValue)
        }
        try:
            keys = tuple(self._argument(value, call.store, places) for value in values)
        except _Untellable:
            return None
        return (
            function,
            interpreter.budget.sparing,
            len(call.args),
            tuple(sorted(call.kwargs)),
            keys,
        )

    def _argument(
        self, value: Value, store: Store, argument_numbers: dict[Hashable, int]
    ) -> Hashable:
        if isinstance(value, Const):
            return type(value.value), value
        if not isinstance(value, TensorValue):
            raise _Untellable
        held = joins.held(value, store)
        if not _is_plain(held):
            raise _Untellable
        return held, tuple(sorted(held.origins.items())), argument_numbers[value.address]

    def _tellable(self, value: Value, call: Call, begun: int) -> Any:
        """A result as it can be told again: its tensors by number, or by what they hold."""
        if isinstance(value, Const):
            return value
        if isinstance(value, TupleValue):
            return replace(
                value, items=tuple(self._tellable(item, call, begun) for item in value.items)
            )
        if not isinstance(value, TensorValue):
            raise _Untellable
        given = _given(call)
        if value in given:
            return _Argument(given.index(value))
        held = joins.held(value, call.store)
        if not self._is_own(value.address, begun) or not _is_plain(held):
            raise _Untellable
        known = {
            dim.size
            for argument in given
            if isinstance(argument, TensorValue)
            for dim in _dims(joins.held(argument, call.store))
        }
        if any(not isinstance(dim.size, int) and dim.size not in known for dim in _dims(held)):
            raise _Untellable
        return held

    def _told(self, result: Any, call: Call) -> Value:
        if isinstance(result, TupleValue):
            return replace(result, items=tuple(self._told(item, call) for item in result.items))
        if isinstance(result, _Argument):
            return _given(call)[result.number]
        if isinstance(result, Held):
            return TensorValue(self._interpreter.new_address(), result)
        constant_result: Value = result
        return constant_result

    def _is_own(self, cell: Hashable, begun: int) -> bool:
        """Whether a cell belongs to what was made after a moment."""
        return self._interpreter.context.ledger.made_after(owner_of(cell), begun)


def _given(call: Call) -> list[Value]:
    """The arguments of a call, those by name in the order of the names."""
    return [*call.args, *(value for _, value in sorted(call.kwargs.items()))]


def _dims(held: Held) -> Iterator[Dim]:
    dims = held.tensor.dims
    yield from (*dims.prefix, *dims.suffix)


def _is_plain(held: Held) -> bool:
    """Whether a tensor has no axes: those are told apart by the call that declares them."""
    return not any(isinstance(dim.name, Axis) for dim in _dims(held))
