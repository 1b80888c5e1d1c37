"""itertools: iterators over the items of other values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import NONE, Const, Operand, Repeated, TupleValue, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.primitives import Content
from namecheck.interpreter.models.registry import model

# How many items a function of several sequences may yield before they are joined into one.
_MOST: Final = 64


def _items(interpreter: Interpreter, value: Value, call: Call) -> Content:
    """The items of an argument; an iterator may be exhausted only in part."""
    return primitives.items(interpreter, value, call, whole=False)


def _listed(content: Content) -> tuple[Value, ...]:
    return () if isinstance(content, Repeated) else content


@model("itertools.chain")
def chain(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.chain(a, b)``."""
    return _chained(interpreter, [_items(interpreter, arg, call) for arg in call.args], call)


@model("itertools.chain.from_iterable")
def chain_from_iterable(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.chain.from_iterable(lists)``."""
    outer = _items(interpreter, call.argument(0), call)
    if isinstance(outer, Repeated):
        return Repeated(primitives.each(_items(interpreter, outer.each, call), call.store))
    return _chained(interpreter, [_items(interpreter, inner, call) for inner in outer], call)


def _chained(interpreter: Interpreter, chained: Sequence[Content], call: Call) -> Value:
    if any(isinstance(content, Repeated) for content in chained):
        every = [primitives.each(content, call.store) for content in chained if content != ()]
        return Repeated(joins.either(every, call.store))
    return primitives.iterator(interpreter, itertools.chain(*map(_listed, chained)))


@model("itertools.product")
def product(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.product(a, b, repeat=n)``."""
    contents = [primitives.items(interpreter, arg, call, whole=True) for arg in call.args]
    repeat = call.kwargs.get("repeat", Const(1))
    if isinstance(repeat, Const) and isinstance(repeat.value, int) and repeat.value < _MOST:
        contents *= repeat.value
    elif "repeat" in call.kwargs:
        every = tuple(primitives.each(content, call.store) for content in contents)
        return Repeated(Repeated(primitives.each(every, call.store)))
    total = 1
    for content in contents:
        total *= _MOST + 1 if isinstance(content, Repeated) else len(content)
    if total > _MOST:
        each = tuple(primitives.each(content, call.store) for content in contents)
        return Repeated(TupleValue(each))
    rows = itertools.product(*map(_listed, contents))
    return primitives.iterator(interpreter, map(TupleValue, rows))


@model("itertools.combinations")
def combinations(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.combinations(items, r)``."""
    return _arranged(interpreter, itertools.combinations, call)


@model("itertools.combinations_with_replacement")
def combinations_with_replacement(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.combinations_with_replacement(items, r)``."""
    return _arranged(interpreter, itertools.combinations_with_replacement, call)


@model("itertools.permutations")
def permutations(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.permutations(items, r)``."""
    return _arranged(interpreter, itertools.permutations, call)


def _arranged(
    interpreter: Interpreter, arrange: Callable[..., Iterable[tuple[Any, ...]]], call: Call
) -> Value:
    """Tuples of some of the items."""
    content = primitives.items(interpreter, call.argument(0, "iterable"), call, whole=True)
    count = call.argument(1, "r")
    if not isinstance(count, Const) or not isinstance(count.value, int):
        return Repeated(Repeated(primitives.each(content, call.store)))
    if isinstance(content, Repeated) or len(content) ** max(count.value, 0) > _MOST**2:
        each = primitives.each(content, call.store)
        return Repeated(TupleValue((each,) * max(count.value, 0)))
    rows = list(arrange(content, count.value)) if count.value >= 0 else []
    if len(rows) <= _MOST:
        return primitives.iterator(interpreter, map(TupleValue, rows))
    return Repeated(TupleValue((primitives.each(content, call.store),) * count.value))


@model("itertools.pairwise")
def pairwise(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.pairwise(items)``."""
    content = _items(interpreter, call.argument(0), call)
    if isinstance(content, Repeated):
        return Repeated(TupleValue((content.each, content.each)))
    return primitives.iterator(interpreter, map(TupleValue, itertools.pairwise(content)))


@model("itertools.islice")
def islice(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.islice(items, start, stop, step)``."""
    content = _items(interpreter, call.argument(0), call)
    bounds = [arg.value for arg in call.args[1:] if isinstance(arg, Const)]
    if isinstance(content, Repeated) or len(bounds) != len(call.args) - 1:
        return Repeated(primitives.each(content, call.store))
    try:
        return primitives.iterator(interpreter, content[slice(*bounds)])
    except (TypeError, ValueError):
        return Repeated(interpreter.fresh("item"))


@model("itertools.dropwhile", "itertools.filterfalse", "itertools.takewhile")
def some(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.takewhile(test, items)``: any number of the items."""
    return Repeated(primitives.each(_items(interpreter, call.argument(1), call), call.store))


@model("itertools.count")
def count_up(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.count(start)``."""
    return Repeated(interpreter.fresh("index", "int"), endless=True)


@model("itertools.cycle")
def cycle(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.cycle(items)``."""
    each = primitives.each(_items(interpreter, call.argument(0), call), call.store)
    return Repeated(each, endless=True)


@model("itertools.repeat")
def repeated(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.repeat(value, times)``; endless without `times`."""
    return Repeated(call.argument(0, "object"), len(call.args) + len(call.kwargs) == 1)


@model("itertools.accumulate")
def accumulate(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.accumulate(items, f)``."""
    content = _items(interpreter, call.argument(0), call)
    callee = call.argument(1, "func")
    if isinstance(content, Repeated) or not content:
        return Repeated(interpreter.fresh("item"))
    totals = [content[0]]
    for addend in content[1:]:
        if callee == NONE:
            pair: list[Operand] = [(call.node, totals[-1]), (call.node, addend)]
            total = interpreter.operate("Add", call.node, pair, call.store, call.frame)
        else:
            total = primitives.invoke(interpreter, callee, [totals[-1], addend], call)
        totals.append(total)
    return primitives.iterator(interpreter, totals)


@model("itertools.starmap")
def starmap(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.starmap(f, rows)``."""
    content = _items(interpreter, call.argument(1), call)
    rows = [content.each] if isinstance(content, Repeated) else list(content)
    outcomes = []
    for row in rows:
        args = _items(interpreter, row, call)
        if isinstance(args, Repeated):
            return Repeated(interpreter.fresh("result"))
        outcomes.append(primitives.invoke(interpreter, call.argument(0), args, call))
    if isinstance(content, Repeated):
        return Repeated(outcomes[0])
    return primitives.iterator(interpreter, outcomes)


@model("itertools.groupby")
def groupby(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.groupby(items, key)``: keys, each with any number of the items."""
    content = _items(interpreter, call.argument(0, "iterable"), call)
    each = primitives.each(content, call.store)
    return Repeated(TupleValue((interpreter.fresh("key"), Repeated(each))))


@model("itertools.tee")
def tee(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.tee(items, n)``."""
    content = _items(interpreter, call.argument(0), call)
    count = call.argument(1, "n", Const(2))
    if not isinstance(count, Const) or not isinstance(count.value, int):
        return Repeated(interpreter.fresh("iterator"))
    if isinstance(content, Repeated):
        return TupleValue((content,) * count.value)
    return TupleValue(tuple(primitives.iterator(interpreter, content) for _ in range(count.value)))


@model("itertools.zip_longest")
def zip_longest(interpreter: Interpreter, call: Call) -> Value:
    """``itertools.zip_longest(a, b, fillvalue=value)``."""
    contents = primitives.items_together(interpreter, call.args, call)
    filling = call.kwargs.get("fillvalue", NONE)
    if any(isinstance(content, Repeated) for content in contents):
        columns = (primitives.each(content, call.store) for content in contents)
        each = tuple(joins.either((column, filling), call.store) for column in columns)
        return Repeated(TupleValue(each))
    rows = itertools.zip_longest(*map(_listed, contents), fillvalue=filling)
    return primitives.iterator(interpreter, map(TupleValue, rows))
