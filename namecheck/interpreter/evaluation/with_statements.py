"""Contexts: the target of ``with``, the end of its block, and which contexts swallow errors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress

from namecheck.interpreter.domain import class_lookup, merges
from namecheck.interpreter.domain.cells import TORCH_MODE, ExitKind, ExitValue
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    TRUE,
    BoundMethod,
    Const,
    External,
    Generator,
    Instance,
    Opaque,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation import guards
from namecheck.interpreter.evaluation.frames import Call, EarlyExits, Frame, PathEnds
from namecheck.interpreter.evaluation.havoc import is_bystander
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.part_protocols import Body


class WithStatements:
    """Enters and leaves the contexts of ``with`` statements."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def make(self, wrapped: Wrapped, call: Call) -> Value:
        """Call a generator under ``contextlib.contextmanager``."""
        generator = self.interpreter.call(wrapped.function, call)
        return Wrapped("context", generator) if isinstance(generator, Generator) else generator

    def around(
        self, with_items: Sequence[ast.withitem], run_block: Body, store: Store, frame: Frame
    ) -> list[Store]:
        """Run the body of a ``with`` block, the first context outermost."""
        if not with_items:
            return run_block(store)
        item, *others = with_items
        value = self.interpreter.evaluate(item.context_expr, store, frame)

        def within(layer: Store) -> list[Store]:
            return self.around(others, run_block, layer, frame)

        if isinstance(value, Wrapped) and isinstance(value.function, Generator):
            ends = self._in_generator(value.function, item, within, store, frame)
            if ends is not None:
                return ends
        before = self.interpreter.torch_devices.enter(value, store)
        mode: Value = store.get(TORCH_MODE, NONE)
        is_mode = _is_mode(value)
        self._bind(item, self._entered(value, item, store, frame), store, frame)
        guard = guards.of_context(self.interpreter, item.context_expr, value, store, frame)
        if guard is None and self._suppresses(value, item, store, frame):
            guard = guards.ANY
        if is_mode:
            store.write(TORCH_MODE, NONE, TRUE)
        left = EarlyExits(frame)
        if guard is None:
            ends = within(store)
        else:
            protected = self.interpreter.protected
            unknowns = self.interpreter.progress.unknowns
            ends, handled, raised = protected(within, [guard], store, frame)
            caught = self.interpreter.progress.unknowns != unknowns or any(
                map(guard.catches, raised)
            )
            if handled is not None and caught:
                ends = [merges.merged(store, [*ends, handled])]
        for end in (*ends, *left.stores()):
            if is_mode:
                end.write(TORCH_MODE, NONE, mode)
            if before is not None:
                self.interpreter.torch_devices.leave(before, end)
            self._leave(value, item, end, frame)
        return ends

    def _bind(self, with_item: ast.withitem, entered: Value, store: Store, frame: Frame) -> None:
        if with_item.optional_vars is not None:
            self.interpreter.bind(with_item.optional_vars, entered, store, frame)

    def _in_generator(
        self,
        generator: Generator,
        with_item: ast.withitem,
        within: Body,
        store: Store,
        frame: Frame,
    ) -> list[Store] | None:
        """Run a block at the yield of a generator; None where the generator is not followed.

        The paths that leave the block early run through the rest of the generator too: a cell marks
        those that do not reach its end.
        """
        number = self.interpreter.new_address()
        exit_kind, exit_value = ExitKind(number), ExitValue(number)

        def each(entered: Value, layer: Store) -> list[Store]:
            self._bind(with_item, entered, layer, frame)
            exits = EarlyExits(frame)
            ends = within(layer)
            for kind_value, end, value in exits.take():
                end.set(exit_kind, Const(kind_value))
                end.set(exit_value, value)
                ends.append(end)
            return ends

        node = with_item.context_expr
        returns = self.interpreter.generators.run(generator, each, node, store, frame, guarded=True)
        if returns is None:
            return None
        through: list[Store] = []
        for end, _ in returns:
            kind_value: Value | None = end.get(exit_kind)
            if not isinstance(kind_value, Const):
                through.append(end)
            if kind_value is not None:
                EarlyExits(frame).add(kind_value, end, end.get(exit_value))
        return through

    def _entered(self, value: Value, with_item: ast.withitem, store: Store, frame: Frame) -> Value:
        """The value that ``with value as name`` binds."""
        if isinstance(value, Instance):
            method = class_lookup.method(value, "__enter__", store)
            if method is not None:
                bound = BoundMethod(method, value)
                return self.interpreter.call_values(bound, [], with_item.context_expr, store, frame)
        return self.interpreter.fresh("entered")

    def _leave(self, value: Value, with_item: ast.withitem, store: Store, frame: Frame) -> None:
        """Run the exit of a ``with`` block; unknown code may do again what it did on entry."""
        expression = with_item.context_expr
        if isinstance(value, Opaque) and isinstance(expression, ast.Call):
            with self.interpreter.findings.silenced(), suppress(PathEnds):
                callee = self.interpreter.evaluate(expression.func, store, frame)
                if not isinstance(callee, External) or not is_bystander(callee.path):
                    parts = [*expression.args, *(word.value for word in expression.keywords)]
                    arguments = [self.interpreter.evaluate(part, store, frame) for part in parts]
                    self.interpreter.havoc_labels(arguments, store)
        if isinstance(value, Instance):
            method = class_lookup.method(value, "__exit__", store)
            if method is not None:
                bound = BoundMethod(method, value)
                positional: list[Value] = [NONE, NONE, NONE]
                try:
                    self.interpreter.call_values(
                        bound, positional, with_item.context_expr, store, frame
                    )
                except PathEnds:  # it demands an error of the block
                    if not self._suppresses(value, with_item, store, frame):
                        raise

    def _suppresses(
        self, value: Value, with_item: ast.withitem, store: Store, frame: Frame
    ) -> bool:
        """Whether a context may swallow an error of its block."""
        exit_method = None
        if isinstance(value, Instance):
            exit_method = class_lookup.method(value, "__exit__", store)
        if exit_method is None:
            return False
        layer = store.fork()
        error = [self.interpreter.fresh("error") for _ in range(3)]
        method = BoundMethod(exit_method, value)
        try:
            with self.interpreter.findings.silenced():
                answer = self.interpreter.call_values(
                    method, error, with_item.context_expr, layer, frame
                )
                return self.interpreter.truth(answer, layer) is not False
        except PathEnds:
            return False


def _is_mode(value: Value) -> bool:
    """Whether a context of the program may change what operators of torch do in its block."""
    return isinstance(value, Instance) and any(
        class_lookup.derives(value.cls, path) for path in ("FunctionMode", "DispatchMode")
    )
