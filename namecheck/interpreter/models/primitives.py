"""Helpers for models: iterate items, call back into the program, make iterators."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Generator, ListValue, Repeated, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

Content: TypeAlias = tuple[Value, ...] | Repeated
"""The items of a value: the known ones, or a cover for each of them."""


def items(interpreter: Interpreter, value: Value, call: Call, *, whole: bool) -> Content:
    """The items of a value; `whole` says that iteration certainly exhausts it."""
    return interpreter.iterate_any(value, call.node, call.store, call.frame, whole=whole)


def items_together(interpreter: Interpreter, args: Sequence[Value], call: Call) -> list[Content]:
    """The items of values that are iterated in step: one iterator gives its items in turns."""
    shared_items: list[Content] = []
    for index, value in enumerate(args):
        is_again = is_iterator(value) and value in args[:index]
        shared_items.append(
            shared_items[args.index(value)]
            if is_again
            else items(interpreter, value, call, whole=False)
        )
    return [_turn(shared_items[index], args, index) for index in range(len(args))]


def _turn(content: Content, args: Sequence[Value], index: int) -> Content:
    """The items that an argument takes of an iterator which other arguments are, too."""
    value = args[index]
    if isinstance(content, Repeated) or not is_iterator(value):
        return content
    return content[args[:index].count(value) :: args.count(value)]


def is_iterator(value: Value) -> bool:
    """Whether iterating a value takes its items away."""
    is_list = isinstance(value, ListValue) and value.kind == "iterator"
    return is_list or isinstance(value, Generator)


def invoke(
    interpreter: Interpreter, function_value: Value, args: Sequence[Value], call: Call
) -> Value:
    """Call an argument of a library function."""
    return interpreter.call_values(function_value, args, call.node, call.store, call.frame)


def operate(
    interpreter: Interpreter,
    operator: str,
    args: Sequence[Value],
    call: Call,
    keyword_values: Mapping[str, Value] | None = None,
) -> Value:
    """Run an operator of the table on values of a call, each pointed at where it is passed."""
    nodes = call.node.args if isinstance(call.node, ast.Call) else []
    operands = []
    if len(nodes) == len(call.args):
        places = {id(value): node for node, value in zip(nodes, call.args, strict=True)}
        operands = [(places[id(value)], value) for value in args if id(value) in places]
    return interpreter.torch.call(
        operator, args, keyword_values or {}, call.node, call.store, call.frame, operands
    )


def iterator(interpreter: Interpreter, item_values: Iterable[Value]) -> ListValue:
    """An iterator over known items."""
    return ListValue(interpreter.new_address(), tuple(item_values), "iterator")


def each(content: Content, store: Store) -> Value:
    """A cover for each of some items."""
    return content.each if isinstance(content, Repeated) else joins.either(content, store)


def pick(interpreter: Interpreter, content: Content, call: Call) -> Value:
    """One of some items, it is unknown which."""
    return joins.pick(content, interpreter.new_address(), call.store)
