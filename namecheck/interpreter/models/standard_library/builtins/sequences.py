"""Methods of tuples, lists and sets."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.interpreter.domain import joins, limits
from namecheck.interpreter.domain.cells import MOST_CANDIDATES, CandidatesOf
from namecheck.interpreter.domain.values import (
    NONE,
    Const,
    DictValue,
    Entries,
    ListValue,
    Operand,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import comparisons, python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.primitives import Content
from namecheck.interpreter.models.registry import method
from namecheck.interpreter.models.standard_library.builtins import iterables


def _items(interpreter: Interpreter, value: Value, call: Call) -> Content:
    return interpreter.iterate(value, call.node, call.store, call.frame)


# Tuples and lists


@method(TupleValue, "index")
def tuple_index(interpreter: Interpreter, sequence: TupleValue, call: Call) -> Value:
    """``items.index(value)`` of a tuple."""
    return _index(interpreter, sequence.items, call)


@method(ListValue, "index")
def list_index(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.index(value)`` of a list."""
    return _index(interpreter, joins.items(receiver, call.store), call)


def _index(interpreter: Interpreter, content: Content, call: Call) -> Value:
    if not isinstance(content, Repeated):
        answers = _comparisons(content, call)
        if True in answers and None not in answers[: answers.index(True)]:
            return Const(answers.index(True))
        if len(content) <= MOST_CANDIDATES:
            place = interpreter.fresh("native", "int")
            possible = [i for i, answer in enumerate(answers) if answer is not False]
            call.store.set(CandidatesOf(place.key), tuple(map(Const, possible)))
            return place
    return interpreter.fresh("native", "int")


@method(TupleValue, "count")
def tuple_count(interpreter: Interpreter, sequence: TupleValue, call: Call) -> Value:
    """``items.count(value)`` of a tuple."""
    return _count(interpreter, sequence.items, call)


@method(ListValue, "count")
def list_count(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.count(value)`` of a list."""
    return _count(interpreter, joins.items(receiver, call.store), call)


def _count(interpreter: Interpreter, content: Content, call: Call) -> Value:
    if not isinstance(content, Repeated):
        answers = _comparisons(content, call)
        if None not in answers:
            return Const(answers.count(True))
    return interpreter.fresh("native", "int")


def _comparisons(item_values: Sequence[Value], call: Call) -> list[bool | None]:
    """For each item whether it equals the argument; None where that is unknown."""
    return [comparisons.equal(call.argument(0), each, call.store) for each in item_values]


@method(TupleValue, "numel")
def numel(interpreter: Interpreter, sequence: TupleValue, call: Call) -> Value:
    """``x.shape.numel()``."""
    total: Value = Const(1)
    for factor in sequence.items:
        operands: list[Operand] = [(call.node, total), (call.node, factor)]
        total = python_operators.apply(
            interpreter, "Mult", call.node, operands, call.store, call.frame
        )
    return total


@method(TupleValue, "_replace")
def replace_fields(interpreter: Interpreter, sequence: TupleValue, call: Call) -> Value:
    """``row._replace(field=value)`` of a named tuple."""
    pairs = zip(sequence.fields, sequence.items, strict=True)
    items = tuple(call.kwargs.get(field, value) for field, value in pairs)
    return TupleValue(items, sequence.fields, sequence.cls)


@method(TupleValue, "_asdict")
def as_dict(interpreter: Interpreter, sequence: TupleValue, call: Call) -> Value:
    """``row._asdict()`` of a named tuple."""
    pairs = zip(map(Const, sequence.fields), sequence.items, strict=True)
    return DictValue(interpreter.new_address(), Entries(tuple(pairs)))


# Lists and sets


@method(ListValue, "append", "add")
def append(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.append(value)``, ``names.add(value)``."""
    return _write(receiver, [joins.items(receiver, call.store), (call.argument(0),)], call)


@method(ListValue, "appendleft")
def append_left(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``queue.appendleft(value)``."""
    return _write(receiver, [(call.argument(0),), joins.items(receiver, call.store)], call)


@method(ListValue, "extend", "update")
def extend(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.extend(others)``, ``names.update(others)``."""
    others = _items(interpreter, call.argument(0), call)
    return _write(receiver, [joins.items(receiver, call.store), others], call)


@method(ListValue, "insert")
def insert(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.insert(index, value)``."""
    content, index = joins.items(receiver, call.store), call.argument(0)
    added = call.argument(1)
    if (
        isinstance(content, Repeated)
        or not isinstance(index, Const)
        or not isinstance(index.value, int)
    ):
        return _write(receiver, [content, Repeated(added)], call)
    return _write(receiver, [content[: index.value], (added,), content[index.value :]], call)


def _write(receiver: ListValue, chained: Sequence[Content], call: Call) -> Value:
    """Append contents to a list or set, one after the other."""
    joined: Content = ()
    for content in chained:
        if content == ():
            continue
        if joined == ():
            joined = content
        elif isinstance(joined, Repeated) or isinstance(content, Repeated):
            both = joins.Joiner(call.store, call.store).sequences(joined, content)
            joined = both if isinstance(both, Repeated) else Repeated(both[0])
        else:
            joined = limits.chained((joined, content), call.store)
    if receiver.kind == "set" and not isinstance(joined, Repeated):
        joined = comparisons.distinct(joined, call.store)
    joins.write(receiver, call.store, joined)
    return NONE


@method(ListValue, "pop")
def pop(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.pop(index)``."""
    return _take(interpreter, receiver, call.argument(0, default=Const(-1)), call)


@method(ListValue, "popleft", "__next__")
def pop_left(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``queue.popleft()``, ``iterator.__next__()``."""
    return _take(interpreter, receiver, Const(0), call)


def _take(interpreter: Interpreter, receiver: ListValue, index: Value, call: Call) -> Value:
    """Remove an item from a list and return it."""
    content = joins.items(receiver, call.store)
    if isinstance(content, Repeated):
        return primitives.pick(interpreter, content, call)
    if not isinstance(index, Const) or not isinstance(index.value, int):
        joins.write(receiver, call.store, Repeated(interpreter.fresh("item")))
        return interpreter.fresh("item")
    if not -len(content) <= index.value < len(content):
        interpreter.fail("IndexError")
    rest = list(content)
    item = rest.pop(index.value)
    joins.write(receiver, call.store, tuple(rest))
    return item


@method(ListValue, "remove", "discard")
def remove(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.remove(value)``, ``names.discard(value)``."""
    content, removed = joins.items(receiver, call.store), call.argument(0)
    if isinstance(content, Repeated):
        return NONE
    if removed in content:
        rest = list(content)
        rest.remove(removed)
        joins.write(receiver, call.store, tuple(rest))
    elif not all(isinstance(each, Const) for each in (*content, removed)):
        joins.write(receiver, call.store, Repeated(interpreter.fresh("item")))
    return NONE


@method(ListValue, "clear")
def clear(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.clear()``."""
    joins.write(receiver, call.store, ())
    return NONE


@method(ListValue, "reverse")
def reverse(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.reverse()``."""
    content = joins.items(receiver, call.store)
    if not isinstance(content, Repeated):
        joins.write(receiver, call.store, content[::-1])
    return NONE


@method(ListValue, "rotate")
def rotate(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``queue.rotate(steps)``."""
    content, steps = joins.items(receiver, call.store), call.argument(0, "n", Const(1))
    if isinstance(content, Repeated) or not content:
        return NONE
    if isinstance(steps, Const) and isinstance(steps.value, int):
        first = -steps.value % len(content)
        joins.write(receiver, call.store, (*content[first:], *content[:first]))
    else:
        joins.write(receiver, call.store, Repeated(joins.either(content, call.store)))
    return NONE


@method(ListValue, "sort")
def sort(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.sort(key=f)``."""
    content = joins.items(receiver, call.store)
    if not isinstance(content, Repeated):
        joins.write(receiver, call.store, iterables.ordered(interpreter, content, call))
    return NONE


@method(ListValue, "copy")
def copy(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``items.copy()``."""
    content = joins.items(receiver, call.store)
    return ListValue(interpreter.new_address(), content, receiver.kind)


@method(ListValue, "union")
def union(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``names.union(others)``."""
    return _set_operator(interpreter, "BitOr", receiver, call)


@method(ListValue, "intersection")
def intersection(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``names.intersection(others)``."""
    return _set_operator(interpreter, "BitAnd", receiver, call)


@method(ListValue, "difference")
def difference(interpreter: Interpreter, receiver: ListValue, call: Call) -> Value:
    """``names.difference(others)``."""
    return _set_operator(interpreter, "Sub", receiver, call)


def _set_operator(
    interpreter: Interpreter, operator: str, receiver: ListValue, call: Call
) -> Value:
    content = _items(interpreter, call.argument(0), call)
    other = ListValue(interpreter.new_address(), content, "set")
    operands: list[Operand] = [(call.node, receiver), (call.node, other)]
    return python_operators.apply(
        interpreter, operator, call.node, operands, call.store, call.frame
    )
