"""Comprehensions, evaluated on abstract values."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from contextlib import suppress

from namecheck.core import names as naming
from namecheck.core.dims import observed
from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.scopes import Comprehension
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    DictValue,
    Entries,
    Environment,
    Instance,
    ListValue,
    Repeated,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import narrowing
from namecheck.interpreter.evaluation.frames import Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter


class Comprehensions:
    """Evaluates comprehensions and generator expressions; the latter eagerly, as lists."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def evaluate(self, comprehension: Comprehension, store: Store, frame: Frame) -> Value:
        """The value of a comprehension."""
        number = self.interpreter.new_address()
        environment = Environment(number, comprehension, frame.environment, frame.environment.cls)
        inner = Frame(environment, frame, None, None, frame.name)
        inner.guards = frame.guards
        results: list[tuple[Value, Value]] = []
        exact = self._generate(comprehension, list(comprehension.generators), results, store, inner)
        if isinstance(comprehension, ast.DictComp):
            return self._dict_of(results, exact, store)
        values = tuple(value for _, value in results)
        kind = {ast.SetComp: "set", ast.ListComp: "list"}.get(type(comprehension), "iterator")
        if not exact:
            made = (value.address for value in values if isinstance(value, (Instance, TorchModule)))
            store.ledger.several.update(made)  # one stands for as many as there are items
        content = values if exact else Repeated(joins.either(values, store))
        return ListValue(self.interpreter.new_address(), content, kind)

    def _dict_of(self, results: list[tuple[Value, Value]], exact: bool, store: Store) -> Value:
        if exact:
            return DictValue(self.interpreter.new_address(), Entries(tuple(dict(results).items())))
        rest = joins.either([value for _, value in results], store)
        return DictValue(self.interpreter.new_address(), Entries((), rest))

    def _generate(
        self,
        comprehension: Comprehension,
        generators: list[ast.comprehension],
        results: list[tuple[Value, Value]],
        store: Store,
        frame: Frame,
    ) -> bool:
        """Collect the items of a comprehension; False where their number is unknown."""
        if not generators:
            if isinstance(comprehension, ast.DictComp):
                key = self.interpreter.evaluate(comprehension.key, store, frame)
                results.append((key, self.interpreter.evaluate(comprehension.value, store, frame)))
            else:
                results.append((NONE, self.interpreter.evaluate(comprehension.elt, store, frame)))
            return True
        generator, *inner = generators
        content = self.interpreter.iterate_any(
            self.interpreter.evaluate(generator.iter, store, frame),
            generator.iter,
            store,
            frame,
        )
        budget = self.interpreter.budget
        limit = 4 * self.interpreter.unroll_limit(frame) if budget.left > 0 else 1
        exact = not isinstance(content, Repeated) and len(content) <= limit

        def collect(item: Value, *, exact: bool) -> bool:
            """Collect the items of one round; False where their number is unknown from then on."""
            self.interpreter.bind(generator.target, item, store, frame)
            paths, certain = self._passing(generator.ifs, store, frame)
            if not paths:
                return exact
            layer = merges.merged(store, paths)
            if not (exact and certain):
                # The body may run any number of times, or not at all.
                layer = store.fork() if layer is store else layer
                self._generate(comprehension, inner, results, layer, frame)
                merges.rejoin(store, [layer, store.fork()])
                return False
            exact = self._generate(comprehension, inner, results, layer, frame)
            if layer is not store:
                merges.rejoin(store, [layer])
            return exact

        if not isinstance(content, Repeated) and exact:
            for item in content:
                exact = collect(item, exact=exact)
            return exact
        count, number = len(results), frame.environment.number
        collect(joins.pick(content, self.interpreter.new_address(), store), exact=False)
        new_values = itertools.chain.from_iterable(results[count:])
        if any(_reads_sizes(value, number, store) for value in new_values):
            # The sizes are those of one round: what another one has in common with it, each has.
            item = joins.pick(content, self.interpreter.new_address(), store)
            with self.interpreter.findings.silenced(), suppress(PathEnds):
                collect(item, exact=False)
        return False

    def _passing(
        self, tests: Sequence[ast.expr], store: Store, frame: Frame
    ) -> tuple[list[Store], bool]:
        """The paths on which all tests hold, and whether they certainly do."""
        paths, certain = [store], True
        for test in tests:
            decided = [narrowing.decide(self.interpreter, test, path, frame) for path in paths]
            paths = [path for holds, _ in decided for path in holds]
            certain &= not any(fails for _, fails in decided)
        return paths, certain


def _reads_sizes(value: Value, number: int, store: Store) -> bool:
    """Whether a tensor has sizes that were read since the scope with this number was entered."""
    if isinstance(value, TupleValue):
        return any(_reads_sizes(item, number, store) for item in value.items)
    if not isinstance(value, TensorValue):
        return False
    dims = joins.held(value, store).tensor.dims
    words = {str(name) for name in dims.names}.union(*map(observed, dims.sizes))
    return any(
        scope > number
        for word in words
        if naming.is_observed(word)
        for scope in naming.scopes(word)
    )
