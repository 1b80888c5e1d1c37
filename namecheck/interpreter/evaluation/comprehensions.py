"""Comprehensions, evaluated on abstract values."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.scopes import Comprehension
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    DictValue,
    Entries,
    Frame,
    ListValue,
    Repeated,
    Value,
)
from namecheck.interpreter.evaluation import narrowing
from namecheck.interpreter.evaluation.machine import Activation, Machine


class Comprehensions:
    """Evaluates comprehensions and generator expressions; these at once, as lists."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def evaluate(self, node: Comprehension, store: Store, activation: Activation) -> Value:
        """What a comprehension gives."""
        number = self.machine.new_address()
        frame = Frame(number, node, activation.frame, activation.frame.cls)
        inner = Activation(frame, activation, None, None, activation.name)
        inner.guards = activation.guards
        results: list[tuple[Value, Value]] = []
        exact = self._generate(node, list(node.generators), results, store, inner)
        if isinstance(node, ast.DictComp):
            return self._dict_of(results, exact, store)
        values = tuple(value for _, value in results)
        kind = {ast.SetComp: "set", ast.ListComp: "list"}.get(type(node), "iterator")
        content = values if exact else Repeated(joins.either(values, store))
        return ListValue(self.machine.new_address(), content, kind)

    def _dict_of(self, results: list[tuple[Value, Value]], exact: bool, store: Store) -> Value:
        if exact:
            return DictValue(self.machine.new_address(), Entries(tuple(dict(results).items())))
        rest = joins.either([value for _, value in results], store)
        return DictValue(self.machine.new_address(), Entries((), rest))

    def _generate(
        self,
        node: Comprehension,
        generators: list[ast.comprehension],
        results: list[tuple[Value, Value]],
        store: Store,
        activation: Activation,
    ) -> bool:
        """Collect what a comprehension gives; False where its number is not known."""
        expressions = self.machine.expressions
        if not generators:
            if isinstance(node, ast.DictComp):
                key = expressions.value(node.key, store, activation)
                results.append((key, expressions.value(node.value, store, activation)))
            else:
                results.append((NONE, expressions.value(node.elt, store, activation)))
            return True
        generator, *inner = generators
        content = expressions.spread_iterable(
            expressions.value(generator.iter, store, activation),
            generator.iter,
            store,
            activation,
        )
        limit = self.machine.statements.unroll_limit(activation)
        exact = not isinstance(content, Repeated) and len(content) <= limit * 4
        if isinstance(content, Repeated) or not exact:
            content = (joins.pick(content, self.machine.new_address(), store),)
        for item in content:
            self.machine.statements.bind(generator.target, item, store, activation)
            paths, certain = self._passing(generator.ifs, store, activation)
            if not paths:
                continue
            layer = merges.merged(store, paths)
            if not (exact and certain):
                # What is done here is done any number of times, or not at all.
                layer = store.fork() if layer is store else layer
                self._generate(node, inner, results, layer, activation)
                merges.rejoin(store, [layer, store.fork()])
                exact = False
                continue
            exact = self._generate(node, inner, results, layer, activation)
            if layer is not store:
                merges.rejoin(store, [layer])
        return exact

    def _passing(
        self, tests: Sequence[ast.expr], store: Store, activation: Activation
    ) -> tuple[list[Store], bool]:
        """The paths on which all tests hold, and whether they certainly do."""
        paths, certain = [store], True
        for test in tests:
            decided = [narrowing.decide(self.machine, test, path, activation) for path in paths]
            paths = [path for holds, _ in decided for path in holds]
            certain &= not any(fails for _, fails in decided)
        return paths, certain
