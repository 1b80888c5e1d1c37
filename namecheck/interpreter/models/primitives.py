"""What models do with values: go through items, call back into the program, make iterators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import ListValue, Repeated, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

Content: TypeAlias = tuple[Value, ...] | Repeated
"""The items of something: those that are known, or what each of them is."""


def items(interpreter: Interpreter, value: Value, call: Call, *, whole: bool) -> Content:
    """The items that iterating a value gives; `whole` says that it is certainly used up."""
    return interpreter.iterate_any(value, call.node, call.store, call.frame, whole=whole)


def invoke(
    interpreter: Interpreter, function_value: Value, args: Sequence[Value], call: Call
) -> Value:
    """Call a value that a function of a library was given."""
    return interpreter.call_values(function_value, args, call.node, call.store, call.frame)


def iterator(interpreter: Interpreter, item_values: Iterable[Value]) -> ListValue:
    """An iterator over known items."""
    return ListValue(interpreter.new_address(), tuple(item_values), "iterator")


def each(content: Content, store: Store) -> Value:
    """What each of some items is."""
    return content.each if isinstance(content, Repeated) else joins.either(content, store)


def pick(interpreter: Interpreter, content: Content, call: Call) -> Value:
    """One of some items, it is not known which."""
    return joins.pick(content, interpreter.new_address(), call.store)
