"""Contexts: what ``with`` binds, what the end of its block does, and which swallow errors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from namecheck.interpreter.domain import merges
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    BoundMethod,
    Const,
    Generator,
    Instance,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation import guards
from namecheck.interpreter.evaluation.calls import Call
from namecheck.interpreter.evaluation.machine import Activation, Left, Machine, PathEnds

# What is done within a context: the paths that reach its end.
Body: TypeAlias = Callable[[Store], list[Store]]


class Contexts:
    """Enters and leaves the contexts of ``with`` statements."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def make(self, function: Wrapped, call: Call) -> Value:
        """Call a generator under ``contextlib.contextmanager``."""
        made = self.machine.calls.call(function.function, call)
        return Wrapped("context", made) if isinstance(made, Generator) else made

    def around(
        self, items: Sequence[ast.withitem], body: Body, store: Store, activation: Activation
    ) -> list[Store]:
        """Run what stands in a ``with`` block, the first context outermost."""
        if not items:
            return body(store)
        item, *others = items
        value = self.machine.expressions.value(item.context_expr, store, activation)

        def within(layer: Store) -> list[Store]:
            return self.around(others, body, layer, activation)

        if isinstance(value, Wrapped) and isinstance(value.function, Generator):
            ends = self._in_generator(value.function, item, within, store, activation)
            if ends is not None:
                return ends
        placement = self.machine.torch.placement
        before = placement.entered(value, store)
        self._bind(item, self._entered(value, item, store, activation), store, activation)
        guard = guards.of_context(self.machine, item.context_expr, store, activation)
        if guard is None and self._suppresses(value, item, store, activation):
            guard = guards.ANY
        left = Left(activation)
        if guard is None:
            ends = within(store)
        else:
            protected = self.machine.statements.protected
            unknowns = self.machine.unknowns
            ends, handled, raised = protected(within, [guard], store, activation)
            caught = self.machine.unknowns != unknowns or any(map(guard.catches, raised))
            if handled is not None and caught:
                ends = [merges.merged(store, [*ends, handled])]
        for end in (*ends, *left.stores()):
            if before is not None:
                placement.left(before, end)
            self._leave(value, item, end, activation)
        return ends

    def _bind(
        self, item: ast.withitem, entered: Value, store: Store, activation: Activation
    ) -> None:
        if item.optional_vars is not None:
            self.machine.statements.bind(item.optional_vars, entered, store, activation)

    def _in_generator(
        self,
        generator: Generator,
        item: ast.withitem,
        within: Body,
        store: Store,
        activation: Activation,
    ) -> list[Store] | None:
        """Run a block where a generator yields; None where the generator is not followed.

        The paths that leave the block early go through the rest of the generator too: a cell tells
        them from those that reach its end.
        """
        number = self.machine.new_address()
        way, brought = ("way", number), ("brought", number)

        def each(entered: Value, layer: Store) -> list[Store]:
            self._bind(item, entered, layer, activation)
            left = Left(activation)
            ends = within(layer)
            for kind, end, value in left.take():
                end.set(way, Const(kind))
                end.set(brought, value)
                ends.append(end)
            return ends

        node = item.context_expr
        returns = self.machine.generators.run(
            generator, each, node, store, activation, guarded=True
        )
        if returns is None:
            return None
        through: list[Store] = []
        for end, _ in returns:
            kind: Value | None = end.get(way)
            if not isinstance(kind, Const):
                through.append(end)
            if kind is not None:
                Left(activation).put(kind, end, end.get(brought))
        return through

    def _entered(
        self, value: Value, item: ast.withitem, store: Store, activation: Activation
    ) -> Value:
        """What ``with value as name`` binds."""
        if isinstance(value, Instance):
            found = self.machine.calls.find_method(value, "__enter__", store)
            if found is not None:
                bound = BoundMethod(found, value)
                return self.machine.calls.call_values(
                    bound, [], item.context_expr, store, activation
                )
        return self.machine.fresh("entered")

    def _leave(
        self, value: Value, item: ast.withitem, store: Store, activation: Activation
    ) -> None:
        """What the end of a ``with`` block does."""
        if isinstance(value, Instance):
            found = self.machine.calls.find_method(value, "__exit__", store)
            if found is not None:
                bound = BoundMethod(found, value)
                args: list[Value] = [NONE, NONE, NONE]
                self.machine.calls.call_values(bound, args, item.context_expr, store, activation)

    def _suppresses(
        self, value: Value, item: ast.withitem, store: Store, activation: Activation
    ) -> bool:
        """Whether a context may swallow an error of its block."""
        found = None
        if isinstance(value, Instance):
            found = self.machine.calls.find_method(value, "__exit__", store)
        if found is None:
            return False
        self.machine.silent += 1
        layer = store.fork()
        error = [self.machine.fresh("error") for _ in range(3)]
        try:
            answer = self.machine.calls.call_values(
                BoundMethod(found, value), error, item.context_expr, layer, activation
            )
            return self.machine.expressions.truth(answer, layer) is not False
        except PathEnds:
            return False
        finally:
            self.machine.silent -= 1
