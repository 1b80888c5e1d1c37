"""Summaries of calls: a function is run once for each kind of arguments, not once for each call.

While a body is run, what it reads of what was there before is recorded, and what it writes. A
later call that would find the same, but for the numbers of what the analysis makes (addresses,
environments, scopes of axes), would do the same: its outcome is the first one's, with the other
numbers. So a kind is what the body looks at, and nothing else: arguments that it only passes on
may hold whatever they like, and so may the rest of the store.

What a call depends on besides is kept as its circumstances: how deep it stood where a call within
it was not followed any more, whether an error was expected around it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from namecheck.core.dataclasses import dataclass
from namecheck.interpreter.domain.recordings import OWN, Recording
from namecheck.interpreter.domain.renaming import Numbering, Numbers, Renaming, Unpaired, Untellable
from namecheck.interpreter.domain.store import ABSENT, Store
from namecheck.interpreter.domain.values import (
    FIRST_NUMBER,
    BoundMethod,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    TorchModule,
    TupleValue,
    Value,
    newest,
)
from namecheck.interpreter.evaluation.circumstances import Answers, Circumstances, root
from namecheck.interpreter.evaluation.frames import Call, PathEnds

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.interpreter import Interpreter

# How many kinds of arguments are remembered of one function.
_EACH: Final = 8
# So often a function is run, with hardly a call that a summary told, before none is kept of it.
_TRIALS: Final = 24
_WORTH: Final = 8


class CallSummaries:
    """The summaries of the functions of one analysis."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._numbering = Numbering(interpreter.context.ledger.block)
        self._known: dict[Hashable, list[_Summary]] = {}
        # How often each function was run, and how often a summary has told a call of it.
        self._runs: Counter[ast.AST] = Counter()
        self._told: Counter[ast.AST] = Counter()

    def call(self, function: FunctionValue, call: Call, follow: Callable[[Call], Value]) -> Value:
        """What a call gives: by a summary, or by following it."""
        interpreter = self._interpreter
        if interpreter.context.recorder is not None or interpreter.budget.brief:
            return follow(call)
        node = function.node
        if self._runs[node] >= _TRIALS and self._told[node] * _WORTH < self._runs[node]:
            return follow(call)
        inputs = _inputs(function, call, interpreter.progress.round)
        known = self._known.setdefault(self._key(function, call), [])
        for number, summary in enumerate(known):
            renaming = summary.renaming(inputs, call, self._numbering)
            if renaming is not None:
                if number:
                    known.insert(0, known.pop(number))
                self._told[node] += 1
                return self._instantiated(summary, renaming, call)
        self._runs[node] += 1
        recorded, outcome = self._recorded(inputs, call, follow)
        if recorded is not None:
            known.insert(0, recorded)
            del known[_EACH:]
        if outcome is None:
            raise PathEnds
        return outcome

    def _key(self, function: FunctionValue, call: Call) -> Hashable:
        """What is the same for calls that may give the same."""
        interpreter = self._interpreter
        budget = interpreter.budget
        return (
            function.node,
            call.node is function.node,
            budget.sparing,
            interpreter.findings.silent > 0,
            tuple(map(_sort, call.args)),
            tuple([(word, _sort(value)) for word, value in call.kwargs.items()]),
        )

    def _recorded(
        self, inputs: tuple[object, ...], call: Call, follow: Callable[[Call], Value]
    ) -> tuple[_Summary | None, Value | None]:
        """Follow a call; its summary, if there is one, and its value, None where no path ends."""
        interpreter = self._interpreter
        ledger, progress = interpreter.context.ledger, interpreter.progress
        layer = call.store.fork()
        unknowns, events = progress.unknowns, progress.events
        budget, exhaustions = interpreter.budget, interpreter.budget.exhaustions
        outcome: Value | None = None
        with (
            ledger.recorded(call.store) as recording,
            progress.raising() as errors,
            progress.under(Circumstances(call.node)) as circumstances,
            suppress(PathEnds),
        ):
            outcome = follow(Call(call.arguments, call.node, layer, call.frame))
        progress.errors.update(errors)
        if outcome is not None:
            call.store.absorb(layer.cells)
        if not recording.whole or budget.left <= 0 or budget.exhaustions != exhaustions:
            return None, outcome
        summary = _Summary(
            inputs,
            outcome,
            layer.cells if outcome is not None else {},
            recording,
            range(recording.since.start, ledger.new()),
            call.store.first,
            circumstances.answers(call.frame),
            frozenset(errors),
            progress.unknowns - unknowns,
            progress.events - events,
        )
        return summary, outcome

    def _instantiated(self, summary: _Summary, renaming: Renaming, call: Call) -> Value:
        """Do what a summary says: write to the store, and give back the value."""
        interpreter = self._interpreter
        ledger, progress = interpreter.context.ledger, interpreter.progress
        progress.unknowns += summary.unknowns
        progress.events += summary.events
        progress.errors |= summary.errors
        effects = summary.effects
        for number in effects.made:
            renaming.pair(number, ledger.new())
        call.store.pass_through(renaming.entries(effects.passed))
        if summary.outcome is None:
            raise PathEnds
        call.store.restore(renaming.entries(effects.cells))
        for key, _ in effects.cells:
            if type(key) is tuple and ledger.has_attributes(key[0]):
                ledger.add_attribute(*renaming.renamed(key))
        for address, initial in effects.first:
            call.store.first.setdefault(renaming.renamed(address), renaming.renamed(initial))
        for number in effects.made:
            ledger.mark_alike(number, renaming.numbers[number])
        outcome: Value = renaming.renamed(summary.outcome)
        return outcome


@dataclass(frozen=True, slots=True)
class _Effects:
    """What a call changed: the `cells` that are left, and what others have `passed` through.

    `made` are the numbers of what it made, of that which can still be reached, `needed` those of
    what was there before; `first` has what the mutable values were made with.
    """

    cells: tuple[tuple[Hashable, Any], ...]
    passed: tuple[tuple[Hashable, Any], ...]
    first: tuple[tuple[Hashable, Any], ...]
    made: tuple[int, ...]
    needed: Numbers


class _Summary:
    """What came of one call, and what of its arguments, the store and its place has decided that.

    What can be told again is found out when it is first asked for: most functions are called once.
    """

    __slots__ = (
        "_cells",
        "_effects",
        "_first",
        "_inputs",
        "_made",
        "_passed",
        "_reads",
        "answers",
        "errors",
        "events",
        "outcome",
        "unknowns",
        "usable",
    )

    def __init__(
        self,
        inputs: tuple[object, ...],
        outcome: Value | None,
        cells: Mapping[Hashable, Any],
        recording: Recording,
        made_numbers: range,
        initials: Mapping[Hashable, Any],
        answers: Answers,
        errors: frozenset[str],
        unknowns: int,
        events: int,
    ) -> None:
        self._inputs = inputs
        self.outcome = outcome
        self._cells = cells
        self._passed = tuple(
            (key, content)
            for key, contents in recording.written.items()
            for content in contents.values()
            if content is not cells.get(key, ABSENT)
        )
        self._reads = tuple(read for read in recording.reads.items() if read[1] is not OWN)
        self._made = made_numbers
        self._first = initials
        self._effects: _Effects | None = None
        self.answers = answers
        self.errors = errors
        self.unknowns = unknowns
        self.events = events
        self.usable = True

    @property
    def effects(self) -> _Effects:
        """What the call changed."""
        assert self._effects is not None, "a summary is asked before it is matched"
        return self._effects

    def renaming(
        self, inputs: tuple[object, ...], call: Call, numbering: Numbering
    ) -> Renaming | None:
        """What its numbers are in another call; None where that is of another kind."""
        if not self.usable or not self.answers.hold(call.node, call.frame):
            return None
        renaming = Renaming(numbering)
        try:
            if not renaming.matches(self._inputs, inputs):
                return None
            if self._effects is None:
                self._effects = self._reachable(numbering)
                self.usable = self._effects.needed <= self._met(numbering)
            if not self.usable or not self._finds(renaming, call.store):
                return None
        except Unpaired:
            return None
        except Untellable:
            self.usable = False
            return None
        return renaming

    def _finds(self, renaming: Renaming, store: Store) -> bool:
        """Whether another call would read the same."""
        reads: list[tuple[Hashable, Any]] = []
        with store.ledger.unrecorded():
            for key, content in self._reads:
                counterpart = renaming.renamed(key)
                other = store.get(counterpart, ABSENT)
                absent = other is ABSENT and content is ABSENT
                if not absent and not renaming.matches(content, other):
                    return False
                reads.append((counterpart, other))
        recording = store.ledger.recording
        if recording is not None:
            recording.read_all(store, reads)
        return True

    def _met(self, numbering: Numbering) -> Numbers:
        """The numbers that the call has met of what was there before."""
        read_parts = [part for read in self._reads for part in read]
        return numbering.of_all([self._inputs, *read_parts])

    def _reachable(self, numbering: Numbering) -> _Effects:
        """What is left of the call, without what nothing leads to any more."""
        made, cells = self._made, self._cells
        by_owner: dict[int, list[Hashable]] = {}
        open_: list[object] = [self.outcome]
        kept: set[Hashable] = set()
        for key, content in cells.items():
            owners = [number for number in newest(key) if number in made]
            if owners:
                by_owner.setdefault(max(owners), []).append(key)
            else:
                kept.add(key)
                open_ += (key, content)
        for entry in self._passed:
            open_ += entry
        reachable: set[int] = set()
        initials: dict[Hashable, Any] = {}
        while open_:
            for number in numbering.of(open_.pop()):
                if number in reachable:
                    continue
                reachable.add(number)
                for key in by_owner.get(number, ()):
                    kept.add(key)
                    open_ += (key, cells[key])
        in_order = [key for key in cells if key in kept]
        for key in in_order:
            if key in self._first:
                initials[key] = self._first[key]
                reachable |= numbering.of(self._first[key])
        fresh = sorted(number for number in reachable if number in made)
        return _Effects(
            tuple((key, cells[key]) for key in in_order),
            self._passed,
            tuple(initials.items()),
            tuple(fresh),
            frozenset(reachable.difference(fresh)),
        )


def _sort(value: Value) -> Hashable:
    """What an argument of another kind most often has otherwise: values alike have it the same."""
    if isinstance(value, Const):
        constant = value.value
        is_number = isinstance(constant, int) and constant >= FIRST_NUMBER
        return int if is_number else (type(constant), constant)
    if isinstance(value, Instance):
        return value.cls.node
    if isinstance(value, (FunctionValue, ClassValue)):
        return value.node
    if isinstance(value, BoundMethod):
        return _sort(value.function)
    if isinstance(value, TorchModule):
        return value.key
    if isinstance(value, External):
        return value.path
    if isinstance(value, TupleValue):
        return len(value.items)
    return type(value).__name__


def _inputs(function: FunctionValue, call: Call, round_: int) -> tuple[object, ...]:
    """What a call is given, all that is not found in the store."""
    arguments = call.arguments
    return (
        function,
        tuple(arguments.args),
        tuple(arguments.kwargs.items()),
        arguments.open,
        arguments.rest,
        arguments.begun,
        round_,
        root(call.frame),
    )
