"""Built-in functions that iterate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namecheck.interpreter.domain import class_lookup, identities, joins
from namecheck.interpreter.domain.cells import EnumerateIndex
from namecheck.interpreter.domain.meter import EXPRESSION
from namecheck.interpreter.domain.provenance import Result
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRUE,
    BoundMethod,
    Const,
    Generator,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.primitives import Content
from namecheck.interpreter.models.registry import model

# A longer range is one item, repeated.
_LONGEST_RANGE = 256


@model("builtins.range")
def range_(interpreter: Interpreter, call: Call) -> Value:
    """``range(start, stop, step)``."""
    bounds = [arg.value for arg in call.args if isinstance(arg, Const)]
    if len(bounds) == len(call.args) and all(isinstance(b, int) for b in bounds) and bounds:
        try:
            numbers = range(*bounds)
            is_short = len(numbers) <= _LONGEST_RANGE
        except (TypeError, ValueError, OverflowError):  # its length has more than 63 bits
            is_short = False
        if is_short:
            return TupleValue(tuple(map(Const, numbers)))
    return Repeated(interpreter.fresh("index", "int"))


@model("builtins.enumerate")
def enumerate_(interpreter: Interpreter, call: Call) -> Value:
    """``enumerate(items, start)``."""
    start = call.argument(1, "start", Const(0))
    generator = _unasked_generator(interpreter, call.argument(0), call)
    if generator is not None:
        return interpreter.generators.changed(generator, _numbering(interpreter, start))
    content = primitives.items(interpreter, call.argument(0), call, whole=True)
    if isinstance(content, Repeated):
        numbered_each = TupleValue((interpreter.fresh("index", "int"), content.each))
        return Repeated(numbered_each, endless=content.endless)
    first = start.value if isinstance(start, Const) and isinstance(start.value, int) else None
    numbered: list[Value] = []
    for number, element in enumerate(content):
        index = interpreter.fresh("index", "int") if first is None else Const(first + number)
        numbered.append(TupleValue((index, element)))
    return primitives.iterator(interpreter, numbered)


def _unasked_generator(interpreter: Interpreter, value: Value, call: Call) -> Generator | None:
    return interpreter.unasked_generator(value, call.node, call.store, call.frame)


def _numbering(interpreter: Interpreter, start: Value) -> Callable[[Value, Store], Value]:
    """The change that numbers the items of a generator; its counter is in the store."""
    key = EnumerateIndex(interpreter.new_address())

    def number(element: Value, store: Store) -> Value:
        index: Value = store.get(key, start)
        following: Value = interpreter.fresh("index", "int")
        if isinstance(index, Const) and isinstance(index.value, int):
            following = Const(index.value + 1)
        store.set(key, following)
        return TupleValue((index, element))

    return number


@model("builtins.zip")
def zip_(interpreter: Interpreter, call: Call) -> Value:
    """``zip(a, b)``."""
    contents = primitives.items_together(interpreter, call.args, call)
    count = min((len(c) for c in contents if not isinstance(c, Repeated)), default=0)
    ends = [not c.endless for c in contents if isinstance(c, Repeated)]
    if any(ends) or len(ends) == len(contents):
        each = tuple(primitives.each(content, call.store) for content in contents)
        return Repeated(TupleValue(each), endless=bool(ends) and not any(ends))
    columns = [
        [primitives.pick(interpreter, content, call) for _ in range(count)]
        if isinstance(content, Repeated)
        else content[:count]
        for content in contents
    ]
    return primitives.iterator(interpreter, map(TupleValue, zip(*columns, strict=True)))


@model("builtins.reversed")
def reversed_(interpreter: Interpreter, call: Call) -> Value:
    """``reversed(items)``."""
    content = primitives.items(interpreter, call.argument(0), call, whole=True)
    if isinstance(content, Repeated):
        return content
    return primitives.iterator(interpreter, content[::-1])


@model("builtins.map")
def map_(interpreter: Interpreter, call: Call) -> Value:
    """``map(f, items)``."""
    callee = call.argument(0)
    generator = None
    if len(call.args) == 2:
        generator = _unasked_generator(interpreter, call.args[1], call)
    if generator is not None:

        def apply(element: Value, store: Store) -> Value:
            within = Call(call.arguments, call.node, store, call.frame)
            return primitives.invoke(interpreter, callee, [element], within)

        return interpreter.generators.changed(generator, apply)
    contents = primitives.items_together(interpreter, call.args[1:], call)
    if any(isinstance(content, Repeated) for content in contents):
        each = [
            content.each if isinstance(content, Repeated) else interpreter.fresh("item")
            for content in contents
        ]
        return Repeated(primitives.invoke(interpreter, callee, each, call))
    listed = [content for content in contents if not isinstance(content, Repeated)]
    rows = zip(*listed, strict=False)
    return primitives.iterator(
        interpreter, [primitives.invoke(interpreter, callee, row, call) for row in rows]
    )


@model("builtins.filter")
def filter_(interpreter: Interpreter, call: Call) -> Value:
    """``filter(test, items)``."""
    test = call.argument(0)
    content = primitives.items(interpreter, call.argument(1), call, whole=False)
    if isinstance(content, Repeated):
        return content
    passing = []
    for element in content:
        answer = element
        if test != NONE:
            answer = primitives.invoke(interpreter, test, [element], call)
        truth = interpreter.truth(answer, call.store)
        if truth is None:
            return Repeated(joins.either(content, call.store))
        if truth:
            passing.append(element)
    return primitives.iterator(interpreter, passing)


@model("builtins.iter")
def iter_(interpreter: Interpreter, call: Call) -> Value:
    """``iter(items)``."""
    value = call.argument(0)
    if primitives.is_iterator(value):
        return value
    content = primitives.items(interpreter, value, call, whole=True)
    return content if isinstance(content, Repeated) else primitives.iterator(interpreter, content)


@model("builtins.next")
def next_(interpreter: Interpreter, call: Call) -> Value:
    """``next(iterator, default)``."""
    value = call.argument(0)
    if isinstance(value, Generator):
        return _step(interpreter, value, call)
    if isinstance(value, Repeated):
        return primitives.pick(interpreter, value, call)
    if isinstance(value, ListValue):
        content = joins.items(value, call.store)
        if isinstance(content, Repeated):
            return primitives.pick(interpreter, content, call)
        if content:
            joins.write(value, call.store, content[1:])
            return content[0]
        if len(call.args) > 1:
            return call.args[1]
        interpreter.fail("StopIteration")
    if isinstance(value, Instance):
        own = class_lookup.method(value, "__next__", call.store)
        if own is not None:
            return primitives.invoke(interpreter, BoundMethod(own, value), [], call)
    return interpreter.fresh("next")


def _step(interpreter: Interpreter, generator: Generator, call: Call) -> Value:
    element = interpreter.generators.step(generator, call.node, call.store, call.frame)
    if element is None and len(call.args) < 2:
        interpreter.fail("StopIteration")
    return call.args[1] if element is None else element


@model("builtins.sum")
def sum_(interpreter: Interpreter, call: Call) -> Value:
    """``sum(items, start)``."""

    def plus(layer: Store, pair: list[Value]) -> Value:
        operands = [(call.node, value) for value in pair]
        return interpreter.operate("Add", call.node, operands, layer, call.frame)

    content = primitives.items(interpreter, call.argument(0), call, whole=True)
    total = call.argument(1, "start", Const(0))
    addends = (content.each, content.each) if isinstance(content, Repeated) else content
    for addend in addends:
        call.store.ledger.meter.spend(EXPRESSION)
        total = interpreter.spread(call.store, [total, addend], plus)
    if isinstance(content, Repeated) and not isinstance(total, TensorValue):
        return interpreter.made_of([content.each], "sum")
    return total


@model("builtins.any")
def any_(interpreter: Interpreter, call: Call) -> Value:
    """``any(items)``."""
    return _any_or_all(interpreter, "any", True, call)


@model("builtins.all")
def all_(interpreter: Interpreter, call: Call) -> Value:
    """``all(items)``."""
    return _any_or_all(interpreter, "all", False, call)


def _any_or_all(interpreter: Interpreter, name: str, decisive: bool, call: Call) -> Value:
    """An item whose truth is `decisive` decides the result."""
    content = primitives.items(interpreter, call.argument(0), call, whole=False)
    if isinstance(content, Repeated):
        if isinstance(content.each, Opaque):
            return Opaque(Result(name, (content.each.key,)), "bool")  # each stands for all items
        return interpreter.made_of([content.each], name, "bool")
    truths = [interpreter.truth(element, call.store) for element in content]
    if decisive not in truths and None in truths:
        parts = tuple(identities.of(element, call.store) for element in content)
        return Opaque(Result(name, parts), "bool")
    return TRUE if (decisive in truths) is decisive else FALSE


# Order


@model("builtins.sorted")
def sorted_(interpreter: Interpreter, call: Call) -> Value:
    """``sorted(items, key=f)``."""
    content = primitives.items(interpreter, call.argument(0), call, whole=True)
    if isinstance(content, Repeated):
        _keys(interpreter, [primitives.pick(interpreter, content, call)], call)
        return ListValue(interpreter.new_address(), content)
    return ListValue(interpreter.new_address(), ordered(interpreter, content, call))


def ordered(interpreter: Interpreter, item_values: Sequence[Value], call: Call) -> Content:
    """The items in the order of ``sorted`` and ``list.sort``."""
    keys = _keys(interpreter, item_values, call)
    reverse = call.kwargs.get("reverse", FALSE)
    if keys is None or not isinstance(reverse, Const):
        return Repeated(joins.either(item_values, call.store))
    try:
        order = sorted(range(len(item_values)), key=keys.__getitem__, reverse=bool(reverse.value))
    except TypeError:
        return Repeated(joins.either(item_values, call.store))
    return tuple(item_values[index] for index in order)


@model("builtins.max")
def max_(interpreter: Interpreter, call: Call) -> Value:
    """``max(items, key=f)``, ``max(a, b)``."""
    return _extreme(interpreter, max, call)


@model("builtins.min")
def min_(interpreter: Interpreter, call: Call) -> Value:
    """``min(items, key=f)``, ``min(a, b)``."""
    return _extreme(interpreter, min, call)


def _extreme(interpreter: Interpreter, choose: Callable[..., int], call: Call) -> Value:
    content: Content = tuple(call.args)
    if len(call.args) == 1:
        content = primitives.items(interpreter, call.args[0], call, whole=True)
    if isinstance(content, Repeated):
        _keys(interpreter, [primitives.pick(interpreter, content, call)], call)
        return primitives.pick(interpreter, content, call)
    if not content:
        return call.kwargs.get("default", NONE)
    keys = _keys(interpreter, content, call)
    if keys is None:
        return primitives.pick(interpreter, content, call)
    try:
        return content[choose(range(len(content)), key=keys.__getitem__)]
    except TypeError:
        return primitives.pick(interpreter, content, call)


def _keys(interpreter: Interpreter, item_values: Sequence[Value], call: Call) -> list[Any] | None:
    """The sort keys of items, where all of them are constant."""
    callee = call.kwargs.get("key", NONE)
    keys = []
    for element in item_values:
        key = element
        if callee != NONE:
            key = primitives.invoke(interpreter, callee, [element], call)
        lowered = interpreter.torch.lower(key, call.store)
        if not _is_comparable(lowered):
            return None
        keys.append(lowered)
    return keys


def _is_comparable(lowered: Any) -> bool:
    if isinstance(lowered, (tuple, list)):
        return all(map(_is_comparable, lowered))
    return isinstance(lowered, (str, int, float))
