"""Statements, run on every path that reaches them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from namecheck.core.faults import Exhausted
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import class_lookup, device_values, joins, merges, scopes
from namecheck.interpreter.domain.cells import FOREIGN, lacking
from namecheck.interpreter.domain.store import Store, common, flattened_apart
from namecheck.interpreter.domain.values import (
    NONE,
    TRUE,
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    Environment,
    FunctionValue,
    Instance,
    ListValue,
    Operand,
    Repeated,
    SliceValue,
    TensorValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation import (
    guards,
    narrowing,
    python_operators,
    targets,
)
from namecheck.interpreter.evaluation.declared import words_of
from namecheck.interpreter.evaluation.frames import UNKNOWN_ERROR, Frame, Guard, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.items import slice_bounds
from namecheck.interpreter.evaluation.loops import Loops

# Into how many paths branches within branches may split one.
_WIDEST: Final = 16


class Statements:
    """Runs blocks of statements."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._file, self._meter = interpreter.file, interpreter.context.ledger.meter
        self.loops = Loops(interpreter)
        self._cases: dict[type[ast.AST], Callable[[Any, Store, Frame], list[Store] | None]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AugAssign: self._augmented,
            ast.AnnAssign: self._annotated,
            ast.Return: self._return,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Try: self._try,
            ast.Raise: self._raise,
            ast.Assert: lambda node, store, frame: self._assert(node.test, store, frame),
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Import: interpreter.imports.run_import,
            ast.ImportFrom: interpreter.imports.run_import_from,
            ast.Delete: self._delete,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Match: self._match,
        }
        if hasattr(ast, "TryStar"):
            self._cases[ast.TryStar] = self._try

    def execute(self, body: Sequence[ast.stmt], stores: list[Store], frame: Frame) -> list[Store]:
        """The paths that reach the end of a block; none where all leave it."""
        if not stores:
            return []
        entry = common(stores)
        for statement in body:
            if len(stores) == 1:
                stores = self.one(statement, stores[0], frame)
            else:
                stores = [end for store in stores for end in self.one(statement, store, frame)]
            if not stores:
                return []
            stores = flattened_apart(stores, entry)
            if len(stores) > self.interpreter.budget.paths:
                from namecheck.interpreter.evaluation import liveness  # few functions have so many

                unread = liveness.unread_after(statement, frame)
                with self._meter.unlimited() if frame.caller is None else nullcontext():
                    stores = merges.few(
                        common(stores), stores, self.interpreter.budget.paths, unread
                    )
        return stores

    def one(self, statement: ast.stmt, store: Store, frame: Frame) -> list[Store]:
        """The paths that continue after one statement."""
        case = self._cases.get(type(statement))
        if case is None:
            return [store]
        self._file.statement = statement
        try:
            if self._meter.spent > self._meter.end:
                raise Exhausted
            ends = case(statement, store, frame)
        except PathEnds:
            return []
        except (RecursionError, Exhausted) as cause:
            return self._unjudged(statement, cause, store, frame)
        return [store] if ends is None else ends

    def _unjudged(
        self, statement: ast.stmt, cause: RecursionError | Exhausted, store: Store, frame: Frame
    ) -> list[Store]:
        """The paths after a statement that exhausts the stack or the steps that it may cost.

        The top level of a file continues without the statement's bindings; a function that is
        called from there is not judged further, and neither is an entry point.
        """
        if frame.caller is not None:
            raise cause
        self.interpreter.give_up(statement, cause)
        for name in scopes.bound(statement):
            self.interpreter.bind_name(
                name, self.interpreter.fresh("unjudged"), store, frame.environment
            )
        return [store]

    def unroll_limit(self, frame: Frame) -> int:
        """How many items of a loop are followed one by one here."""
        return self.loops.limit(frame)

    # Binding

    def _split(
        self,
        value: Value,
        store: Store,
        write: Callable[[Value, Store], None],
    ) -> list[Store]:
        """Follow each alternative of a value on a separate path."""
        if not isinstance(value, Union) or _is_foreign(value) or device_values.is_choice(value):
            write(value, store)
            return [store]
        ends = []
        for choice in value.alternatives:
            if store.allows(choice.facts):
                layer = store.assume(choice.facts)
                write(choice.value, layer)
                ends.append(layer)
        return ends

    def augment(
        self,
        name: str,
        node: Node,
        operands: list[Operand],
        store: Store,
        frame: Frame,
    ) -> Value:
        """``target op= value`` without binding the target."""
        return python_operators.augmented(self.interpreter, name, node, operands, store, frame)

    # Simple statements

    def _expression(
        self, expression_statement: ast.Expr, store: Store, frame: Frame
    ) -> list[Store]:
        if isinstance(expression_statement.value, ast.Yield):
            return self.interpreter.yielded(expression_statement.value, store, frame)
        call_node = expression_statement.value
        if not self.interpreter.context.evidence.is_observed:
            self.interpreter.evaluate(call_node, store, frame)
            return [store]
        from namecheck.interpreter.evaluation import observed_checks, observed_equalities

        observed_checks.judge(self.interpreter, call_node, store, frame)
        self.interpreter.evaluate(call_node, store, frame)
        observed_checks.observe(self.interpreter, call_node, store, frame)
        checked = observed_equalities.checked(call_node)
        if checked is not None:
            with self.interpreter.findings.silenced():
                stores = self._assert(checked, store, frame)
                for path in stores:
                    observed_equalities.learn_all(self.interpreter, checked, path, frame)
                return stores
        return [store]

    def _assign(self, assignment: ast.Assign, store: Store, frame: Frame) -> list[Store]:
        size_bindings: list[tuple[ast.Name, Value]] = []
        if self.interpreter.context.evidence.is_observed:
            from namecheck.interpreter.evaluation import (
                observed_axes,  # only where asked for
                observed_parts,
            )

            observed_parts.check(self.interpreter, assignment, store, frame)
            size_bindings = observed_axes.observe(self.interpreter, assignment, store, frame)
        value = self.interpreter.evaluate_whole(assignment.value, store, frame)
        if self.interpreter.context.evidence.is_observed:
            value = observed_axes.number(self.interpreter, assignment, value, store)
        if not isinstance(value, Union):
            for target in assignment.targets:
                self.interpreter.bind(target, value, store, frame)
            for size_target, size in size_bindings:
                self.interpreter.bind(size_target, size, store, frame)
            return [store]

        def write(choice: Value, layer: Store) -> None:
            for target in assignment.targets:
                self.interpreter.bind(target, choice, layer, frame)
            for size_target, size in size_bindings:
                self.interpreter.bind(size_target, size, layer, frame)

        if any(isinstance(target, (ast.Tuple, ast.List)) for target in assignment.targets):
            value = targets.unpackable(value, store)
        return self._split(value, store, write)

    def _annotated(self, assignment: ast.AnnAssign, store: Store, frame: Frame) -> list[Store]:
        if assignment.value is None:
            self.interpreter.declare(assignment, store, frame)
            return [store]
        value = self.interpreter.evaluate_whole(assignment.value, store, frame)

        def write(choice: Value, layer: Store) -> None:
            content = self.interpreter.declarations.assigned(assignment, choice, layer, frame)
            self.interpreter.bind(assignment.target, content, layer, frame)

        return self._split(value, store, write)

    def _augmented(self, assignment: ast.AugAssign, store: Store, frame: Frame) -> None:
        target = self.interpreter.evaluate(assignment.target, store, frame)
        value = self.interpreter.evaluate(assignment.value, store, frame)
        name = type(assignment.op).__name__
        result = self.interpreter.spread(
            store,
            [target, value],
            lambda layer, values: self.augment(
                name,
                assignment,
                [(assignment.target, values[0]), (assignment.value, values[1])],
                layer,
                frame,
            ),
        )
        if self.interpreter.context.recorder is not None:
            self.interpreter.context.recorder.value(assignment, result, store)
        self.interpreter.bind(assignment.target, result, store, frame)

    def _return(self, return_node: ast.Return, store: Store, frame: Frame) -> list[Store]:
        value: Value = NONE
        if return_node.value is not None:
            value = self.interpreter.evaluate_whole(return_node.value, store, frame)

        def leave(choice: Value, layer: Store) -> None:
            self.interpreter.declarations.leave(return_node, choice, layer, frame)
            frame.returns.append((layer, choice))

        if isinstance(value, Union):
            self._split(value, store, leave)
        else:
            leave(value, store)
        if len(frame.returns) > 2 * self.interpreter.budget.paths:
            frame.returns[:] = [self._one_return(frame.returns)]
        return []

    def _one_return(self, returns: list[tuple[Store, Value]]) -> tuple[Store, Value]:
        """Merge the paths that return, because there are many of them."""
        stores = [store for store, _ in returns]
        value = returns[0][1]
        for joiner, (_, other) in zip(merges.joiners(stores), returns[1:], strict=True):
            value = joiner.value(value, other)
        return merges.merged(common(stores), stores), value

    def _raise(self, raise_node: ast.Raise, store: Store, frame: Frame) -> list[Store]:
        error = guards.error_of(self.interpreter, raise_node.exc, store, frame)
        # Constructing a built-in error raises no other error; only its arguments may.
        evaluated = (
            raise_node.exc.args
            if error and isinstance(raise_node.exc, ast.Call)
            else [raise_node.exc]
        )
        for part in evaluated:
            if part is not None:
                self.interpreter.evaluate(part, store, frame)
        self.interpreter.fail(error)

    def _assert(self, test: ast.expr, store: Store, frame: Frame) -> list[Store]:
        holds, _ = narrowing.decide(self.interpreter, test, store, frame)
        if not holds and not isinstance(test, ast.Constant):
            if frame.is_called:
                from namecheck.interpreter.evaluation import refused_ranks  # few functions fail

                refused_ranks.check_assertion(self.interpreter, test, store, frame)
            if self.interpreter.expects("AssertionError", frame):
                self.interpreter.fail("AssertionError")
            return []  # what follows is right only for other values than are known here
        if store.get(FOREIGN) is None:
            for path in holds:
                path.set(FOREIGN, None)  # it is meant for this version after all
        return flattened_apart(holds, store)

    def _delete(self, deletion: ast.Delete, store: Store, frame: Frame) -> None:
        for target in deletion.targets:
            if isinstance(target, ast.Name):
                self.interpreter.bind_name(
                    target.id, self.interpreter.fresh("deleted"), store, frame.environment
                )
            elif isinstance(target, ast.Attribute):
                receiver = self.interpreter.evaluate(target.value, store, frame)
                deleted = self.interpreter.fresh("deleted")
                self.interpreter.set_attribute(receiver, Const(target.attr), deleted, store)
                self.interpreter.set_attribute(receiver, Const(lacking(target.attr)), TRUE, store)
            elif isinstance(target, ast.Subscript):
                self._delete_item(target, store, frame)

    def _delete_item(self, subscript: ast.Subscript, store: Store, frame: Frame) -> None:
        receiver = self.interpreter.evaluate(subscript.value, store, frame)
        index = self.interpreter.evaluate(subscript.slice, store, frame)
        if isinstance(receiver, Instance):
            method = class_lookup.method(receiver, "__delitem__", store)
            if method is not None:
                bound = BoundMethod(method, receiver)
                self.interpreter.call_values(bound, [index], subscript, store, frame)
                return
            receiver = joins.opened(receiver, store)
        if isinstance(receiver, DictValue):
            content = joins.entries(receiver, store)
            entries = tuple((key, entry) for key, entry in content.items if key != index)
            joins.write(receiver, store, Entries(entries, content.rest))
        elif isinstance(receiver, ListValue):
            items = joins.items(receiver, store)
            if isinstance(items, Repeated):
                return
            rest = list(items)
            cut = slice_bounds(index) if isinstance(index, SliceValue) else None
            if cut is not None:
                del rest[cut]
                joins.write(receiver, store, tuple(rest))
            elif isinstance(index, Const) and isinstance(index.value, int):
                if -len(rest) <= index.value < len(rest):
                    del rest[index.value]
                joins.write(receiver, store, tuple(rest))
            else:
                joins.write(receiver, store, Repeated(self.interpreter.fresh("item")))

    def _break(self, break_node: ast.Break, store: Store, frame: Frame) -> list[Store]:
        if frame.breaks:
            frame.breaks[-1].append(store)
        return []

    def _continue(self, continue_node: ast.Continue, store: Store, frame: Frame) -> list[Store]:
        if frame.continues:
            frame.continues[-1].append(store)
        return []

    # Branches

    def _if(self, if_node: ast.If, store: Store, frame: Frame) -> list[Store]:
        holds, fails = narrowing.decide(self.interpreter, if_node.test, store, frame)
        if holds == [store] or fails == [store]:
            if holds and frame.is_called and isinstance(if_node.body[-1], ast.Raise):
                from namecheck.interpreter.evaluation import refused_ranks  # few functions raise

                raised = if_node.body[-1].exc
                refused_ranks.check_guard(self.interpreter, if_node.test, raised, store, frame)
            return self.execute(if_node.body if holds else if_node.orelse, [store], frame)
        exits = frame.exits
        foreign = store.get(FOREIGN)
        is_undecided = bool(holds) and bool(fails)
        with frame.choosing(is_undecided=is_undecided):
            ends = self._branch(if_node.body, holds, store, frame)
            if is_undecided and self.interpreter.context.evidence.is_observed:
                from namecheck.interpreter.evaluation import optional_changes  # where asked for

                optional_changes.settle(self.interpreter, if_node, store, ends, frame)
            ends += self._branch(if_node.orelse, fails, store, frame)
        if ends and foreign is None and all(end.get(FOREIGN) for end in ends):
            # The paths of different versions merge here.
            ends = [merges.merged(store, ends)]
            ends[0].set(FOREIGN, None)
        if len(ends) < 2:
            return flattened_apart(ends, store)
        from namecheck.interpreter.evaluation import liveness  # not every program has options

        if merges.differ_in_names(store, ends, liveness.unread_after(if_node, frame)):
            return flattened_apart(ends, store)
        if frame.exits == exits:
            # No path left the branches early, so the store before them is not used any more.
            store.absorb(merges.merge(store, ends))
            return [store]
        return [merges.merged(store, ends)]

    def _branch(
        self, body: Sequence[ast.stmt], paths: list[Store], store: Store, frame: Frame
    ) -> list[Store]:
        """Run a branch on the paths that enter it; those of branches in branches are joined.

        A chain of ``elif`` is nested: where each test splits a path in two, 2^n reach the last one.
        """
        outer = frame.width
        if len(paths) > 1 and outer * len(paths) > _WIDEST:
            store.ledger.reach("paths of nested branches")
            paths = [merges.merged(store, paths)]
        frame.width = outer * max(len(paths), 1)
        try:
            return self.execute(body, paths, frame)
        finally:
            frame.width = outer

    def _match(self, match_node: ast.Match, store: Store, frame: Frame) -> list[Store]:
        from namecheck.interpreter.evaluation.match_statements import Patterns  # few files have any

        return Patterns(self.interpreter).match(match_node, store, frame)

    # Loops

    def _for(self, for_node: ast.For, store: Store, frame: Frame) -> list[Store]:
        return self.loops.over(for_node, store, frame)

    def _while(self, loop: ast.While, store: Store, frame: Frame) -> list[Store]:
        return self.loops.during(loop, store, frame)

    # with, try

    def _with(self, with_node: ast.With, store: Store, frame: Frame) -> list[Store]:
        return self.interpreter.with_statements.around(
            [*with_node.items, *guards.entered(with_node)],
            lambda layer: self.execute(with_node.body, [layer], frame),
            store,
            frame,
        )

    def protected(
        self,
        run_block: Callable[[Store], list[Store]],
        new_guards: Sequence[Guard],
        store: Store,
        frame: Frame,
    ) -> tuple[list[Store], Store | None, set[str]]:
        """Run a block whose errors are handled.

        Returns the paths through it; a store that covers each state in which an error may be
        raised, None where none can be; and the types of the errors that certainly end a path.
        """
        progress = self.interpreter.progress
        unknowns = progress.unknowns
        stretch = self.interpreter.stretch()
        frame.guards += new_guards
        try:
            with progress.raising() as raised, self.interpreter.context.ledger.logging() as log:
                ends = run_block(store.fork())
        finally:
            del frame.guards[len(frame.guards) - len(new_guards) :]
        escaping = (e for e in raised if not any(guard.catches(e) for guard in new_guards))
        progress.errors.update(escaping)
        if not raised and progress.unknowns == unknowns:
            return ends, None, raised
        return ends, merges.at_any_time(store, log, stretch), raised

    def _try(self, try_node: ast.Try, store: Store, frame: Frame) -> list[Store]:
        if not try_node.finalbody:
            return self._guarded(try_node, store, frame)
        lists: list[list[Any]] = [
            frame.returns,
            *frame.breaks[-1:],
            *frame.continues[-1:],
        ]
        before = [len(paths) for paths in lists]
        ends = self._guarded(try_node, store, frame)
        for paths, count in zip(lists, before, strict=True):
            paths[count:] = self._finally(try_node, paths[count:], frame)
        return self.execute(try_node.finalbody, ends, frame) if ends else []

    def _finally(self, try_node: ast.Try, exits: Sequence[Any], frame: Frame) -> list[Any]:
        """Run ``finally`` on the paths that leave a ``try`` early; returns have a value."""
        finished: list[Any] = []
        for path in exits:
            store = path[0] if isinstance(path, tuple) else path
            for end in self.execute(try_node.finalbody, [store.fork()], frame):
                finished.append((end, path[1]) if isinstance(path, tuple) else end)
        return finished

    def _guarded(self, try_node: ast.Try, store: Store, frame: Frame) -> list[Store]:
        """Run a ``try`` with its handlers."""
        interpreter, unknowns = self.interpreter, self.interpreter.progress.unknowns
        caught = guards.of_handlers(interpreter, try_node, store, frame)
        new_guards = [guard for guard in caught if not guard.again]
        ends, handled, raised = self.protected(
            lambda layer: self.execute(try_node.body, [layer], frame), new_guards, store, frame
        )
        unsure = interpreter.progress.unknowns != unknowns
        ends = self.execute(try_node.orelse, ends, frame) if ends else []
        if handled is not None:
            uncaught = set(raised)
            for handler, guard in zip(try_node.handlers, caught, strict=True):
                mine = {error for error in uncaught if guard.catches(error)}
                uncaught -= mine - {UNKNOWN_ERROR}
                if not mine and not unsure:
                    continue
                layer = handled.fork()
                if handler.name:
                    self.interpreter.bind_name(
                        handler.name, self.interpreter.fresh("error"), layer, frame.environment
                    )
                ends.extend(self.execute(handler.body, [layer], frame))
            if raised and try_node.finalbody and not try_node.handlers:
                self.execute(try_node.finalbody, [handled.fork()], frame)
        return merges.few(store, ends, self.interpreter.budget.paths)

    # Definitions

    def define_function(
        self,
        definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        store: Store,
        frame: Frame,
    ) -> FunctionValue:
        """The function of a definition, its defaults evaluated here."""
        environment, spec = frame.environment, definition.args
        positional = [*spec.posonlyargs, *spec.args]

        def default_of(parameter: ast.arg, expression: ast.expr) -> Value:
            value = self.interpreter.evaluate(expression, store, frame)
            if not isinstance(value, TensorValue):
                return value
            from namecheck.interpreter.evaluation import tested_defaults  # few have tensors

            if tested_defaults.tests_elements(definition, parameter.arg):
                return self.interpreter.fresh("default")
            return value

        function = FunctionValue(
            definition,
            environment,
            tuple(
                map(default_of, positional[len(positional) - len(spec.defaults) :], spec.defaults)
            ),
            tuple(
                (parameter.arg, default_of(parameter, default))
                for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
                if default is not None
            ),
            environment.cls,
        )
        current: Environment | None = environment
        while current is not None:
            self.interpreter.context.ledger.captured.add(current.number)
            current = current.enclosing
        self.interpreter.definitions.functions.setdefault(definition, function)
        return function

    def _function(
        self, definition: ast.FunctionDef | ast.AsyncFunctionDef, store: Store, frame: Frame
    ) -> None:
        decorators = [
            self.interpreter.evaluate(decorator, store, frame)
            for decorator in definition.decorator_list
        ]
        for word in words_of(definition):
            self.interpreter.evaluate(word, store, frame)
        value: Value = self.define_function(definition, store, frame)
        for where, decorator in zip(
            reversed(definition.decorator_list), reversed(decorators), strict=True
        ):
            value = self.interpreter.libraries.decorate(decorator, value, where, store, frame)
        self.interpreter.bind_name(definition.name, value, store, frame.environment)

    def _class(self, class_node: ast.ClassDef, store: Store, frame: Frame) -> None:
        decorators = [
            (node, self.interpreter.evaluate(node, store, frame))
            for node in class_node.decorator_list
        ]
        decorated: Value = self.interpreter.classes.define(
            class_node, [value for _, value in decorators], store, frame
        )
        for decorator, value in reversed(decorators):
            decorated = self.interpreter.libraries.decorate(
                value, decorated, decorator, store, frame
            )
        if isinstance(decorated, ClassValue):
            self.interpreter.definitions.classes.append(decorated)
        self.interpreter.bind_name(class_node.name, decorated, store, frame.environment)


def _is_foreign(union: Union) -> bool:
    """Whether the library version decides which alternative a value is."""
    return any(fact is FOREIGN for choice in union.alternatives for fact, _ in choice.facts)
