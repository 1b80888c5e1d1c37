"""itertools: iterators over the items of others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import NONE, Const, Operand, Repeated, TupleValue, Value
from namecheck.interpreter.evaluation.calls import Call
from namecheck.interpreter.evaluation.machine import Machine
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.primitives import Content
from namecheck.interpreter.models.registry import model

# How many items a function of several sequences may give before they are taken as alike.
_MOST: Final = 64


def _items(machine: Machine, value: Value, call: Call) -> Content:
    """The items of an argument, of which an iterator may take only some."""
    return primitives.items(machine, value, call, whole=False)


def _listed(content: Content) -> tuple[Value, ...]:
    return () if isinstance(content, Repeated) else content


@model("itertools.chain")
def chain(machine: Machine, call: Call) -> Value:
    """``itertools.chain(a, b)``."""
    return _chained(machine, [_items(machine, arg, call) for arg in call.args], call)


@model("itertools.chain.from_iterable")
def chain_from_iterable(machine: Machine, call: Call) -> Value:
    """``itertools.chain.from_iterable(lists)``."""
    outer = _items(machine, call.argument(0), call)
    if isinstance(outer, Repeated):
        return Repeated(primitives.each(_items(machine, outer.each, call), call.store))
    return _chained(machine, [_items(machine, inner, call) for inner in outer], call)


def _chained(machine: Machine, contents: Sequence[Content], call: Call) -> Value:
    if any(isinstance(content, Repeated) for content in contents):
        every = [primitives.each(content, call.store) for content in contents if content != ()]
        return Repeated(joins.either(every, call.store))
    return primitives.iterator(machine, itertools.chain(*map(_listed, contents)))


@model("itertools.product")
def product(machine: Machine, call: Call) -> Value:
    """``itertools.product(a, b, repeat=n)``."""
    contents = [primitives.items(machine, arg, call, whole=True) for arg in call.args]
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
    return primitives.iterator(machine, map(TupleValue, rows))


@model("itertools.combinations")
def combinations(machine: Machine, call: Call) -> Value:
    """``itertools.combinations(items, r)``."""
    return _arranged(machine, itertools.combinations, call)


@model("itertools.combinations_with_replacement")
def combinations_with_replacement(machine: Machine, call: Call) -> Value:
    """``itertools.combinations_with_replacement(items, r)``."""
    return _arranged(machine, itertools.combinations_with_replacement, call)


@model("itertools.permutations")
def permutations(machine: Machine, call: Call) -> Value:
    """``itertools.permutations(items, r)``."""
    return _arranged(machine, itertools.permutations, call)


def _arranged(
    machine: Machine, arrange: Callable[..., Iterable[tuple[Any, ...]]], call: Call
) -> Value:
    """Tuples of some of the items."""
    content = primitives.items(machine, call.argument(0, "iterable"), call, whole=True)
    count = call.argument(1, "r")
    if not isinstance(count, Const) or not isinstance(count.value, int):
        return Repeated(Repeated(primitives.each(content, call.store)))
    if isinstance(content, Repeated) or len(content) ** max(count.value, 0) > _MOST**2:
        each = primitives.each(content, call.store)
        return Repeated(TupleValue((each,) * max(count.value, 0)))
    rows = list(arrange(content, count.value)) if count.value >= 0 else []
    if len(rows) <= _MOST:
        return primitives.iterator(machine, map(TupleValue, rows))
    return Repeated(TupleValue((primitives.each(content, call.store),) * count.value))


@model("itertools.pairwise")
def pairwise(machine: Machine, call: Call) -> Value:
    """``itertools.pairwise(items)``."""
    content = _items(machine, call.argument(0), call)
    if isinstance(content, Repeated):
        return Repeated(TupleValue((content.each, content.each)))
    return primitives.iterator(machine, map(TupleValue, itertools.pairwise(content)))


@model("itertools.islice")
def islice(machine: Machine, call: Call) -> Value:
    """``itertools.islice(items, start, stop, step)``."""
    content = _items(machine, call.argument(0), call)
    bounds = [arg.value for arg in call.args[1:] if isinstance(arg, Const)]
    if isinstance(content, Repeated) or len(bounds) != len(call.args) - 1:
        return Repeated(primitives.each(content, call.store))
    try:
        return primitives.iterator(machine, content[slice(*bounds)])
    except (TypeError, ValueError):
        return Repeated(machine.fresh("item"))


@model("itertools.dropwhile", "itertools.filterfalse", "itertools.takewhile")
def some(machine: Machine, call: Call) -> Value:
    """``itertools.takewhile(test, items)``: any number of the items."""
    return Repeated(primitives.each(_items(machine, call.argument(1), call), call.store))


@model("itertools.count")
def count_up(machine: Machine, call: Call) -> Value:
    """``itertools.count(start)``."""
    return Repeated(machine.fresh("index", "int"), endless=True)


@model("itertools.cycle")
def cycle(machine: Machine, call: Call) -> Value:
    """``itertools.cycle(items)``."""
    each = primitives.each(_items(machine, call.argument(0), call), call.store)
    return Repeated(each, endless=True)


@model("itertools.repeat")
def repeated(machine: Machine, call: Call) -> Value:
    """``itertools.repeat(value, times)``; without a number of times it has no end."""
    return Repeated(call.argument(0, "object"), len(call.args) + len(call.kwargs) == 1)


@model("itertools.accumulate")
def accumulate(machine: Machine, call: Call) -> Value:
    """``itertools.accumulate(items, f)``."""
    content = _items(machine, call.argument(0), call)
    callee = call.argument(1, "func")
    if isinstance(content, Repeated) or not content:
        return Repeated(machine.fresh("item"))
    totals = [content[0]]
    for addend in content[1:]:
        if callee == NONE:
            pair: list[Operand] = [(call.node, totals[-1]), (call.node, addend)]
            total = machine.expressions.operate("Add", call.node, pair, call.store, call.activation)
        else:
            total = primitives.invoke(machine, callee, [totals[-1], addend], call)
        totals.append(total)
    return primitives.iterator(machine, totals)


@model("itertools.starmap")
def starmap(machine: Machine, call: Call) -> Value:
    """``itertools.starmap(f, rows)``."""
    content = _items(machine, call.argument(1), call)
    rows = [content.each] if isinstance(content, Repeated) else list(content)
    outcomes = []
    for row in rows:
        args = _items(machine, row, call)
        if isinstance(args, Repeated):
            return Repeated(machine.fresh("result"))
        outcomes.append(primitives.invoke(machine, call.argument(0), args, call))
    if isinstance(content, Repeated):
        return Repeated(outcomes[0])
    return primitives.iterator(machine, outcomes)


@model("itertools.groupby")
def groupby(machine: Machine, call: Call) -> Value:
    """``itertools.groupby(items, key)``: keys, each with any number of the items."""
    content = _items(machine, call.argument(0, "iterable"), call)
    each = primitives.each(content, call.store)
    return Repeated(TupleValue((machine.fresh("key"), Repeated(each))))


@model("itertools.tee")
def tee(machine: Machine, call: Call) -> Value:
    """``itertools.tee(items, n)``."""
    content = _items(machine, call.argument(0), call)
    count = call.argument(1, "n", Const(2))
    if not isinstance(count, Const) or not isinstance(count.value, int):
        return Repeated(machine.fresh("iterator"))
    if isinstance(content, Repeated):
        return TupleValue((content,) * count.value)
    return TupleValue(tuple(primitives.iterator(machine, content) for _ in range(count.value)))


@model("itertools.zip_longest")
def zip_longest(machine: Machine, call: Call) -> Value:
    """``itertools.zip_longest(a, b, fillvalue=value)``."""
    contents = [_items(machine, arg, call) for arg in call.args]
    filling = call.kwargs.get("fillvalue", NONE)
    if any(isinstance(content, Repeated) for content in contents):
        columns = (primitives.each(content, call.store) for content in contents)
        each = tuple(joins.either((column, filling), call.store) for column in columns)
        return Repeated(TupleValue(each))
    rows = itertools.zip_longest(*map(_listed, contents), fillvalue=filling)
    return primitives.iterator(machine, map(TupleValue, rows))
