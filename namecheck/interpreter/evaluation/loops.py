"""Loops: followed item by item while that is cheap, else to a fixed point.

Findings are reported for the first and the second run of the body; then the state is widened in
silence to a fixed point (docs/semantics.md, "Findings and lints").
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, TypeAlias

from namecheck.core.trees import is_name, nodes
from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.cells import Fact, Written
from namecheck.interpreter.domain.recordings import newest
from namecheck.interpreter.domain.renaming import NotRenamable, Renaming
from namecheck.interpreter.domain.store import Store, flattened_apart
from namecheck.interpreter.domain.values import Const, Generator, Repeated, Value
from namecheck.interpreter.evaluation import circumstances, narrowing
from namecheck.interpreter.evaluation.context import Moment
from namecheck.interpreter.evaluation.frames import EarlyExits, Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# How many items are followed one by one: in a loop, in a nested one, and deeper.
_LIMITS: Final = (24, 8, 4)
_SPARING_LIMITS: Final = (8, 3, 1)
# How often a loop runs to reach its fixed point; less often inside a loop that does so.
_ROUNDS: Final = 6
_SILENT_ROUNDS: Final = 3

# The number of a round says which one it is: the first, the second, or any.
Enter = Callable[[Store, int | None], list[Store]]
Leave = Callable[[Store], list[Store]]
_Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
# What tells when the objects of some cells were made, with the contents before and after a round.
_Changes: TypeAlias = tuple[tuple[tuple[int, ...], Any, Any], ...]


class Loops:
    """Runs ``for`` and ``while``."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._is_observed = interpreter.context.evidence.is_observed

    def limit(self, frame: Frame) -> int:
        """How many items are followed one by one, fewer in nested loops."""
        if self.interpreter.budget.left <= 0:
            return 1
        around = self.interpreter.progress.around
        if around is not None:
            around.unrolled = True
        limits = _SPARING_LIMITS if self.interpreter.budget.sparing else _LIMITS
        return limits[circumstances.loops_around(frame)]

    def over(self, loop: ast.For | ast.AsyncFor, store: Store, frame: Frame) -> list[Store]:
        """``for target in items``."""
        moment = self.interpreter.moment()
        value = self.interpreter.evaluate(loop.iter, store, frame)
        generator = self.interpreter.unasked_generator(value, loop.iter, store, frame)
        if generator is not None:
            ends = self._of_generator(loop, generator, store, frame, moment)
            if ends is not None:
                return ends
        content = self.interpreter.iterate_any(value, loop.iter, store, frame)
        if not isinstance(content, Repeated) and len(content) <= self.limit(frame):
            return self._each(loop, content, store, frame, moment)

        counter = _tested_counter(loop) if self._is_observed else None
        most = _most_rounds(loop.iter)

        def enter(layer: Store, number: int | None) -> list[Store]:
            if number is not None and most is not None and number >= most:
                return []
            item = joins.pick(content, self.interpreter.new_address(), layer)
            self.interpreter.bind(loop.target, item, layer, frame)
            if counter is not None and number is not None:
                self.interpreter.bind(counter, Const(number), layer, frame)
            return [layer]

        def leave(layer: Store) -> list[Store]:
            return [] if isinstance(content, Repeated) and content.endless else [layer]

        certain = not isinstance(content, Repeated)
        return self._to_rest(loop, enter, leave, store, frame, certain, moment)

    def _of_generator(
        self,
        loop: ast.For | ast.AsyncFor,
        generator: Generator,
        store: Store,
        frame: Frame,
        moment: Moment,
    ) -> list[Store] | None:
        """Run the body at each yield of a generator; None where the generator is not followed.

        A loop that is left closes its generator, which may run clean-up code.
        """
        broken: list[Store] = []

        def each(item: Value, layer: Store) -> list[Store]:
            self.interpreter.budget.spend(len(loop.body))
            self.interpreter.bind(loop.target, item, layer, frame)
            return self._body(loop.body, [layer], broken, frame)

        exits = EarlyExits(frame)
        with self.interpreter.context.ledger.logging() as log:
            returns = self.interpreter.generators.run(generator, each, loop.iter, store, frame)
        if self.interpreter.generators.cleans_up(generator):
            for path in (*broken, *exits.stores()):
                path.absorb(merges.at_any_time(path, log).changes_since(path))
        if returns is None:
            self.interpreter.generators.abandon(generator, store)
            return None
        ends = [end for end, _ in returns]
        ends = self.interpreter.execute(loop.orelse, ends, frame) if ends else []
        return self._tidy(loop, [*ends, *broken], store, moment, frame)

    def _each(
        self,
        loop: ast.For | ast.AsyncFor,
        elements: Sequence[Value],
        store: Store,
        frame: Frame,
        moment: Moment,
    ) -> list[Store]:
        """Run the body once for every item."""
        broken: list[Store] = []
        stores = [store]
        first_round = self.interpreter.moment()
        judged = self.interpreter.findings.judged
        for position, item in enumerate(elements):
            self.interpreter.budget.spend(len(loop.body))
            entered = []
            for layer in stores:
                fork = layer.fork() if len(elements) > 1 or layer is store else layer
                self.interpreter.bind(loop.target, item, fork, frame)
                entered.append(fork)
            with judged.stage(position):
                stores = self._body(loop.body, entered, broken, frame)
            stores = self._tidy(loop, stores, store, first_round, frame, is_round=True)
            if not stores:
                break
        ends = self.interpreter.execute(loop.orelse, stores, frame) if stores else []
        return self._tidy(loop, [*ends, *broken], store, moment, frame)

    def _tidy(
        self,
        any_loop: _Loop,
        stores: list[Store],
        base: Store,
        moment: Moment,
        frame: Frame,
        *,
        is_round: bool = False,
    ) -> list[Store]:
        """Merge paths without differences, and keep the numbers of layers and of cells low."""
        stores = self._swept(stores, base, moment, frame)
        if len(stores) > 1:
            from namecheck.interpreter.evaluation import liveness  # not every program has options

            unread = liveness.unread_after(any_loop, frame, is_round=is_round)
            stores = merges.few(base, stores, self.interpreter.budget.paths, unread)
        return flattened_apart(stores, base)

    def _swept(self, stores: list[Store], base: Store, moment: Moment, frame: Frame) -> list[Store]:
        """The paths without the unreachable objects that the loop has made.

        In a generator none is removed, because its caller may refer to objects that it has made.
        """
        if self.interpreter.scope(frame.environment.scope).generator:
            return stores
        sweep = self.interpreter.swept
        return [sweep(store, base, moment) if store is not base else store for store in stores]

    def _body(
        self,
        body: Sequence[ast.stmt],
        stores: list[Store],
        broken: list[Store],
        frame: Frame,
    ) -> list[Store]:
        """Run the body; the paths that reach its end or ``continue``. Breaks go to `broken`."""
        frame.breaks.append([])
        frame.continues.append([])
        try:
            with self.interpreter.progress.in_round(self.interpreter.new_address()):
                ends = self.interpreter.execute(body, stores, frame)
        finally:
            broken.extend(frame.breaks.pop())
            continued = frame.continues.pop()
        return [*ends, *continued]

    def during(self, loop: ast.While, store: Store, frame: Frame) -> list[Store]:
        """``while test``: followed while the test certainly holds, then run to the fixed point."""
        moment = self.interpreter.moment()
        broken: list[Store] = []
        stores = [store]
        for _ in range(self.limit(frame)):
            going: list[Store] = []
            for layer in stores:
                fork = layer.fork()
                holds, fails = narrowing.decide(self.interpreter, loop.test, fork, frame)
                if holds and fails:
                    return self._unknown_while(loop, stores, broken, store, frame, moment)
                going.extend(holds)
                broken.extend(self.interpreter.execute(loop.orelse, fails, frame))
            if not going:
                return self._tidy(loop, broken, store, moment, frame)
            self.interpreter.budget.spend(len(loop.body))
            ends = self._body(loop.body, going, broken, frame)
            stores = self._tidy(loop, ends, store, moment, frame, is_round=True)
            if not stores:
                return self._tidy(loop, broken, store, moment, frame)
        return self._unknown_while(loop, stores, broken, store, frame, moment)

    def _unknown_while(
        self,
        loop: ast.While,
        stores: list[Store],
        broken: list[Store],
        base: Store,
        frame: Frame,
        moment: Moment,
    ) -> list[Store]:
        def test(layer: Store, truth: bool) -> list[Store]:
            holds, fails = narrowing.decide(self.interpreter, loop.test, layer, frame)
            return holds if truth else fails

        entry = merges.merged(base, stores) if stores != [base] else base
        ends = self._to_rest(
            loop,
            lambda layer, number: test(layer, True),
            lambda layer: test(layer, False),
            entry,
            frame,
            False,
            moment,
        )
        return self._tidy(loop, [*ends, *broken], base, moment, frame)

    def _to_rest(
        self,
        any_loop: _Loop,
        enter: Enter,
        leave: Leave,
        store: Store,
        frame: Frame,
        certain: bool,
        moment: Moment,
    ) -> list[Store]:
        """Run the body on its first and second state, then widen to the fixed point."""
        interpreter = self.interpreter
        interpreter.budget.spend(4 * len(any_loop.body))
        broken: list[Store] = []
        states = [] if certain else [store]
        current = store
        # Without findings to report, only the fixed point is needed.
        for round_ in range(
            1 if interpreter.findings.silent or interpreter.budget.left <= 0 else 2
        ):
            with self._round(any_loop, round_):
                ends = self._once(any_loop.body, enter, current, broken, frame, round_)
            if not ends:
                break
            before, current = current, merges.merged(store, ends)
            states.append(current)
            # The states of all further rounds are among those that the body has been run on.
            if before is not store and merges.covers(before, current, store):
                break
        else:
            with self._round(any_loop, _ROUNDS):
                states.append(self._widen(any_loop.body, enter, store, states, broken, frame))
        exits: list[Store] = []
        if states:
            rest = merges.merged(store, [s if s is not store else store.fork() for s in states])
            exits = interpreter.execute(any_loop.orelse, leave(rest.fork()), frame)
        return self._tidy(any_loop, [*exits, *broken], store, moment, frame)

    @contextmanager
    def _round(self, any_loop: _Loop, number: int) -> Iterator[None]:
        """Judge a round by itself, unless the body asks which item it has."""
        if isinstance(any_loop, ast.While) or not _tests_item(any_loop):
            with self.interpreter.findings.judged.stage(number):
                yield
        else:
            yield

    def _once(
        self,
        body: Sequence[ast.stmt],
        enter: Enter,
        store: Store,
        broken: list[Store],
        frame: Frame,
        number: int | None = None,
    ) -> list[Store]:
        """Run the body once; the paths that reach its end."""
        moment = self.interpreter.moment()
        ends = self._body(body, enter(store.fork(), number), broken, frame)
        return self._swept(ends, store, moment, frame)

    def _widen(
        self,
        body: Sequence[ast.stmt],
        enter: Enter,
        base: Store,
        states: list[Store],
        broken: list[Store],
        frame: Frame,
    ) -> Store:
        """A state that the body does not change, computed in silence."""
        interpreter = self.interpreter
        rounds = _SILENT_ROUNDS if interpreter.findings.silent else _ROUNDS
        rounds = rounds if interpreter.budget.left > 0 else 0
        late: list[Store] = []
        last_changes: _Changes = ()
        with interpreter.findings.silenced():
            state = merges.merged(base, [s if s is not base else base.fork() for s in states])
            for round_ in range(rounds):
                late = []
                ends = self._once(body, enter, state, late, frame)
                if not ends:
                    break
                either = merges.merged(base, [state, merges.merged(base, ends)])
                changing = merges.unsettled(state, either, base)
                if not changing:
                    break
                new_changes = self._changes_of_objects(changing, state, either, base)
                state = either
                if len(new_changes) == len(changing) and self._are_alike(last_changes, new_changes):
                    break
                last_changes = new_changes
                if round_ >= rounds - 2:
                    state = self._forget(state, changing)
            else:
                state = self._forget(state, state.changes_since(base))
                late += [state.fork()] if broken or late else []
            broken.extend(late)
            return state

    def _changes_of_objects(
        self, changing: Iterable[Hashable], store_before: Store, store_after: Store, base: Store
    ) -> _Changes:
        """How a round has changed the objects that the loop has made."""
        ledger = base.ledger
        return tuple(
            (made, store_before.get(key), store_after.get(key))
            for key in changing
            for made in [newest(key)]
            if any(ledger.made_after(number, base.born) for number in made)
        )

    def _are_alike(self, first_changes: _Changes, other_changes: _Changes) -> bool:
        """Whether two rounds have changed objects alike, each those of the round before it.

        Then each round makes objects that the next one changes, and all that follow do the same.
        """
        try:
            return Renaming(self.interpreter.context.numbering).matches(
                first_changes, other_changes
            )
        except NotRenamable:
            return False

    def _forget(self, state: Store, changing: Iterable[Hashable]) -> Store:
        """Make the cells unknown that still change."""
        layer = state.fork()
        for key in changing:
            content = state.get(key)
            if isinstance(key, Fact):
                layer.set(key, None)
            elif not isinstance(key, Written) and content is not None:
                merges.forget(key, content, layer)
        return layer


def _tests_item(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a test in the body of a loop reads a variable of its item, but for its number."""
    counter = _counter(loop)
    words = {node.id for node in nodes(loop.target) if isinstance(node, ast.Name)}
    return not _tested(loop).isdisjoint(words - {counter.id if counter else ""})


def _tested_counter(loop: ast.For | ast.AsyncFor) -> ast.Name | None:
    """The number of a round, where the body tests it: ``if index > 0``."""
    counter = _counter(loop)
    return counter if counter is not None and counter.id in _tested(loop) else None


def _counter(loop: ast.For | ast.AsyncFor) -> ast.Name | None:
    """The variable that has the number of the round, from 0 on."""
    target, call = loop.target, loop.iter
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return None
    if is_name(call.func, "enumerate") and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif not is_name(call.func, "range"):
        return None
    return target if isinstance(target, ast.Name) else None


def _most_rounds(iterated: ast.expr) -> int | None:
    """How many rounds a loop has at most: ``range(min(1, n))``, ``items[:1]``; None if unknown."""
    if isinstance(iterated, ast.Call) and is_name(iterated.func, "enumerate") and iterated.args:
        return _most_rounds(iterated.args[0])
    bounds: list[ast.expr | None] = []
    if isinstance(iterated, ast.Subscript) and isinstance(iterated.slice, ast.Slice):
        bounds = [iterated.slice.upper] if iterated.slice.lower is None else []
    elif (
        isinstance(iterated, ast.Call)
        and is_name(iterated.func, "range")
        and len(iterated.args) == 1
    ):
        count = iterated.args[0]
        if isinstance(count, ast.Call) and is_name(count.func, "min"):
            bounds = [*count.args]
    numbers = [
        bound.value
        for bound in bounds
        if isinstance(bound, ast.Constant) and isinstance(bound.value, int)
    ]
    return min(numbers, default=None)


@lru_cache(maxsize=1024)
def _tested(loop: ast.For | ast.AsyncFor) -> frozenset[str]:
    """The variables that tests in the body of a loop read."""
    return frozenset(
        part.id
        for statement in loop.body
        for node in nodes(statement)
        if isinstance(node, (ast.If, ast.IfExp, ast.While))
        for part in nodes(node.test)
        if isinstance(part, ast.Name)
    )
