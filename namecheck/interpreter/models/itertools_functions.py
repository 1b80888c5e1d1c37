"""The functions of itertools, on abstract values, and those of random that choose among items."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import (
    NONE,
    Const,
    ListValue,
    Operand,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.calls import Call
from namecheck.interpreter.evaluation.machine import Machine

# The items of something: those that are known, or what each of them is.
Content: TypeAlias = tuple[Value, ...] | Repeated

# How many items a function of several sequences may give before they are taken as alike.
_MOST: Final = 64


class Iterators:
    """Calls the functions of itertools and random."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.functions: Mapping[str, Callable[[Call], Value]] = {
            "itertools.accumulate": self._accumulate,
            "itertools.chain": self._chain,
            "itertools.chain.from_iterable": self._chain_from,
            "itertools.combinations": partial(self._arranged, itertools.combinations),
            "itertools.combinations_with_replacement": partial(
                self._arranged, itertools.combinations_with_replacement
            ),
            "itertools.count": lambda call: Repeated(self.machine.fresh("index", "int"), True),
            "itertools.cycle": self._cycle,
            "itertools.dropwhile": self._some,
            "itertools.filterfalse": self._some,
            "itertools.groupby": self._grouped,
            "itertools.islice": self._slice,
            "itertools.pairwise": self._pairwise,
            "itertools.permutations": partial(self._arranged, itertools.permutations),
            "itertools.product": self._product,
            "itertools.repeat": self._repeat,
            "itertools.starmap": self._starmap,
            "itertools.takewhile": self._some,
            "itertools.tee": self._tee,
            "itertools.zip_longest": self._zip_longest,
            "random.choice": self._choice,
            "random.choices": self._sample,
            "random.sample": self._sample,
        }

    def _items(self, value: Value, call: Call, *, whole: bool = False) -> Content:
        return self.machine.expressions.spread_iterable(
            value, call.node, call.store, call.activation, whole=whole
        )

    def _each(self, content: Content, call: Call) -> Value:
        """What each of some items is."""
        return content.each if isinstance(content, Repeated) else joins.either(content, call.store)

    def _iterator(self, items: Iterable[Value]) -> Value:
        return ListValue(self.machine.new_address(), tuple(items), "iterator")

    def _invoke(self, function: Value, args: Sequence[Value], call: Call) -> Value:
        return self.machine.calls.call_values(
            function, args, call.node, call.store, call.activation
        )

    def _chain(self, call: Call) -> Value:
        return self._chained([self._items(arg, call) for arg in call.args], call)

    def _chain_from(self, call: Call) -> Value:
        outer = self._items(call.argument(0), call)
        if isinstance(outer, Repeated):
            return Repeated(self._each(self._items(outer.each, call), call))
        return self._chained([self._items(item, call) for item in outer], call)

    def _chained(self, parts: Sequence[Content], call: Call) -> Value:
        if any(isinstance(part, Repeated) for part in parts):
            every = [self._each(part, call) for part in parts if part != ()]
            return Repeated(joins.either(every, call.store))
        return self._iterator(item for part in parts for item in _known(part))

    def _product(self, call: Call) -> Value:
        parts = [self._items(arg, call, whole=True) for arg in call.args]
        repeat = call.kwargs.get("repeat", Const(1))
        if isinstance(repeat, Const) and isinstance(repeat.value, int) and repeat.value < _MOST:
            parts *= repeat.value
        elif "repeat" in call.kwargs:
            return Repeated(Repeated(self._each(tuple(self._each(p, call) for p in parts), call)))
        total = 1
        for part in parts:
            total *= _MOST + 1 if isinstance(part, Repeated) else len(part)
        if total > _MOST:
            return Repeated(TupleValue(tuple(self._each(part, call) for part in parts)))
        return self._iterator(map(TupleValue, itertools.product(*map(_known, parts))))

    def _arranged(self, arrange: Callable[..., Iterable[tuple[Any, ...]]], call: Call) -> Value:
        """``combinations`` and ``permutations``: tuples of some of the items."""
        content = self._items(call.argument(0, "iterable"), call, whole=True)
        count = call.argument(1, "r")
        if not isinstance(count, Const) or not isinstance(count.value, int):
            return Repeated(Repeated(self._each(content, call)))
        if isinstance(content, Repeated) or len(content) ** max(count.value, 0) > _MOST**2:
            return Repeated(TupleValue((self._each(content, call),) * max(count.value, 0)))
        rows = list(arrange(content, count.value)) if count.value >= 0 else []
        if len(rows) <= _MOST:
            return self._iterator(map(TupleValue, rows))
        return Repeated(TupleValue((self._each(content, call),) * count.value))

    def _pairwise(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        if isinstance(content, Repeated):
            return Repeated(TupleValue((content.each, content.each)))
        return self._iterator(map(TupleValue, itertools.pairwise(content)))

    def _slice(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        bounds = [arg.value for arg in call.args[1:] if isinstance(arg, Const)]
        if isinstance(content, Repeated) or len(bounds) != len(call.args) - 1:
            return Repeated(self._each(content, call))
        try:
            return self._iterator(content[slice(*bounds)])
        except (TypeError, ValueError):
            return Repeated(self.machine.fresh("item"))

    def _some(self, call: Call) -> Value:
        """What passes some test: any number of the items."""
        return Repeated(self._each(self._items(call.argument(1), call), call))

    def _cycle(self, call: Call) -> Value:
        return Repeated(self._each(self._items(call.argument(0), call), call), endless=True)

    def _repeat(self, call: Call) -> Value:
        return Repeated(call.argument(0, "object"), len(call.args) + len(call.kwargs) == 1)

    def _accumulate(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        function = call.argument(1, "func")
        if isinstance(content, Repeated) or not content:
            return Repeated(self.machine.fresh("item"))
        totals = [content[0]]
        for item in content[1:]:
            pair: list[Operand] = [(call.node, totals[-1]), (call.node, item)]
            if function == NONE:
                totals.append(
                    self.machine.expressions.operate(
                        "Add", call.node, pair, call.store, call.activation
                    )
                )
            else:
                totals.append(self._invoke(function, [totals[-1], item], call))
        return self._iterator(totals)

    def _starmap(self, call: Call) -> Value:
        content = self._items(call.argument(1), call)
        rows = [content.each] if isinstance(content, Repeated) else list(content)
        results: list[Value] = []
        for row in rows:
            args = self._items(row, call)
            if isinstance(args, Repeated):
                return Repeated(self.machine.fresh("result"))
            results.append(self._invoke(call.argument(0), args, call))
        return Repeated(results[0]) if isinstance(content, Repeated) else self._iterator(results)

    def _grouped(self, call: Call) -> Value:
        """``groupby``: keys, each with any number of the items."""
        content = self._items(call.argument(0, "iterable"), call)
        each = self._each(content, call)
        return Repeated(TupleValue((self.machine.fresh("key"), Repeated(each))))

    def _tee(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        count = call.argument(1, "n", Const(2))
        if not isinstance(count, Const) or not isinstance(count.value, int):
            return Repeated(self.machine.fresh("iterator"))
        if isinstance(content, Repeated):
            return TupleValue((content,) * count.value)
        return TupleValue(tuple(self._iterator(content) for _ in range(count.value)))

    def _zip_longest(self, call: Call) -> Value:
        contents = [self._items(arg, call) for arg in call.args]
        filling = call.kwargs.get("fillvalue", NONE)
        if any(isinstance(content, Repeated) for content in contents):
            each = [
                joins.either((self._each(content, call), filling), call.store)
                for content in contents
            ]
            return Repeated(TupleValue(tuple(each)))
        rows = itertools.zip_longest(*map(_known, contents), fillvalue=filling)
        return self._iterator(map(TupleValue, rows))

    def _choice(self, call: Call) -> Value:
        content = self._items(call.argument(0, "seq"), call)
        return joins.pick(content, self.machine.new_address(), call.store)

    def _sample(self, call: Call) -> Value:
        content = self._items(call.argument(0, "population"), call)
        return ListValue(self.machine.new_address(), Repeated(self._each(content, call)))


def _known(content: Content) -> tuple[Value, ...]:
    return () if isinstance(content, Repeated) else content
