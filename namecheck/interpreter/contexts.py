"""Contexts: what ``with`` binds, what the end of its block does, and which swallow errors."""

from __future__ import annotations

import ast

from namecheck.interpreter.calls import Call
from namecheck.interpreter.machine import Activation, Machine, PathEnds
from namecheck.interpreter.objects import (
    NONE,
    BoundMethod,
    FunctionValue,
    Held,
    Instance,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
    Wrapped,
)
from namecheck.interpreter.store import Store
from namecheck.values import Tensor

_KINDS = ("context", "suppressing")


class Contexts:
    """Enters and leaves the contexts of ``with`` statements."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def make(self, function: Wrapped, call: Call) -> Value:
        """Call a generator under ``contextlib.contextmanager``.

        It is run to its end at once: what it leaves in a tensor that it writes to is held back
        until the block is left, and within the block it is not known.
        """
        layer = call.store.fork()
        inner = Call(call.arguments, call.node, layer, call.activation)
        result = self.machine.calls.call(function.function, inner)
        changes = layer.changes_since(call.store)
        held_back = [
            TensorValue(("left", address), content)
            for address, content in changes.items()
            if isinstance(content, Held)
        ]
        call.store.absorb(
            {
                address: Held(Tensor()) if isinstance(content, Held) else content
                for address, content in changes.items()
            }
        )
        kind = "suppressing" if _catches_errors(function) else "context"
        return Wrapped(kind, TupleValue((result, *held_back)))

    def enter(
        self, value: Value, item: ast.withitem, store: Store, activation: Activation
    ) -> Value:
        """What ``with value as name`` binds."""
        node = item.context_expr
        if isinstance(value, Wrapped) and value.kind in _KINDS:
            assert isinstance(value.function, TupleValue)
            generated = value.function.items[0]
            yielded = self.machine.expressions.iterate(generated, node, store, activation)
            if isinstance(yielded, Repeated):
                return yielded.each
            return yielded[0] if yielded else NONE
        if isinstance(value, Instance):
            found = self.machine.calls.find_method(value, "__enter__", store)
            if found is not None:
                bound = BoundMethod(found, value)
                return self.machine.calls.call_values(bound, [], node, store, activation)
        return self.machine.fresh("entered")

    def leave(self, value: Value, item: ast.withitem, store: Store, activation: Activation) -> None:
        """What the end of a ``with`` block does."""
        if isinstance(value, Wrapped) and value.kind in _KINDS:
            assert isinstance(value.function, TupleValue)
            for held_back in value.function.items[1:]:
                if isinstance(held_back, TensorValue) and isinstance(held_back.address, tuple):
                    number = self.machine.ledger.new()
                    store.mutate(held_back.address[1], None, held_back.initial, number)
        if isinstance(value, Instance):
            found = self.machine.calls.find_method(value, "__exit__", store)
            if found is not None:
                bound = BoundMethod(found, value)
                args: list[Value] = [NONE, NONE, NONE]
                self.machine.calls.call_values(bound, args, item.context_expr, store, activation)

    def suppresses(
        self, value: Value, item: ast.withitem, store: Store, activation: Activation
    ) -> bool:
        """Whether a context may swallow an error of its block."""
        if isinstance(value, Wrapped):
            return value.kind == "suppressing"
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


def _catches_errors(function: Wrapped) -> bool:
    """Whether the ``yield`` of a context manager stands in a ``try`` with handlers."""
    node = function.function.node if isinstance(function.function, FunctionValue) else None
    tries = [] if node is None else [n for n in ast.walk(node) if isinstance(n, ast.Try)]
    return any(
        isinstance(inner, (ast.Yield, ast.YieldFrom))
        for guarded in tries
        if guarded.handlers
        for statement in guarded.body
        for inner in ast.walk(statement)
    )
