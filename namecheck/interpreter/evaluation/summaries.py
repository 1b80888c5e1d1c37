"""Summaries of calls: a body is run once for each kind of call, not once for each call.

While a body is run, a recording notes every cell that it reads of the store before the call, and
every cell that it writes. A later call that would read the same contents has the same outcome, but
for the numbers of the objects that the analysis makes (addresses, environments, scopes of axes),
which are renamed. So the kind of a call is what its body reads, and nothing else: objects that the
body only passes on may differ, and so may the rest of the store. Of the equations of sizes on the
path only those of axes and numbers that the call has met count, and whether any holds: then all
axes have a scope of their own (`domain.equalities`).

A summary also has the circumstances that the outcome depends on: the depth of the call stack if a
call within it was not followed, the guards around the call if the body raised an error.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass
from namecheck.interpreter.domain import equalities
from namecheck.interpreter.domain.cells import EQUAL_SIZES, Fact
from namecheck.interpreter.domain.equalities import Equations
from namecheck.interpreter.domain.reachability import reachable
from namecheck.interpreter.domain.recordings import OWN, Recording
from namecheck.interpreter.domain.renaming import (
    NotRenamable,
    Numbering,
    Numbers,
    Renaming,
    Unpaired,
)
from namecheck.interpreter.domain.store import ABSENT, Ledger, Store
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
)
from namecheck.interpreter.evaluation.circumstances import Answers, Circumstances, root
from namecheck.interpreter.evaluation.findings import Findings
from namecheck.interpreter.evaluation.frames import Call, PathEnds
from namecheck.interpreter.evaluation.judged import Key as FindingKey

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.interpreter import Interpreter

# Finds all words in what a call has met; only called where there are equations.
_FindWords: TypeAlias = Callable[[], Collection[str]]

# How many reads may be compared before one that has differed.
_EARLY: Final = 4
# A call that leaves more cells is followed each time: objects that hold two of the next kind, to
# any depth, would be made in full, and a followed call ends at a depth.
_MOST_CELLS: Final = 8_192
# How many summaries one function may have.
_EACH: Final = 8
# Stands for the equations of a call that has asked for none.
_NONE_READ: Final = object()
# After so many runs a function must have had one hit in `_WORTH` runs, or it gets no summaries.
_TRIALS: Final = 24
_WORTH: Final = 8


class CallSummaries:
    """The summaries of the functions of one analysis."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._numbering = interpreter.context.numbering
        self._known: dict[Hashable, list[_Summary]] = {}
        # How often each function was run, and how often a summary was applied instead.
        self._runs: Counter[ast.AST] = Counter()
        self._hits: Counter[ast.AST] = Counter()

    def call(self, function: FunctionValue, call: Call, follow: Callable[[Call], Value]) -> Value:
        """The result of a call: by a summary, or by `follow`, which runs the body."""
        interpreter = self._interpreter
        if interpreter.context.recorder is not None or interpreter.budget.brief:
            return follow(call)
        node = function.node
        if self._runs[node] >= _TRIALS and self._hits[node] * _WORTH < self._runs[node]:
            return follow(call)
        progress = interpreter.progress
        inputs = _inputs(function, call)
        known = self._known.setdefault(self._key(function, call), [])
        is_silent = interpreter.findings.silent > 0
        for number, summary in enumerate(known):
            if not summary.holds(interpreter.findings, is_silent=is_silent):
                continue
            renaming = summary.renaming(inputs, call, progress.round, self._numbering)
            if renaming is not None:
                if number:
                    known.insert(0, known.pop(number))
                self._hits[node] += 1
                if summary.round is not None:
                    progress.asked_round()
                if not is_silent:
                    interpreter.findings.added += summary.reported
                    if progress.around is not None:
                        progress.around.heard |= summary.heard
                return self._instantiated(summary, renaming, call)
        self._runs[node] += 1
        if call.is_last:
            return follow(call)
        recorded, outcome = self._recorded(inputs, call, follow)
        if recorded is not None:
            known.insert(0, recorded)
            del known[_EACH:]
        if outcome is None:
            raise PathEnds
        return outcome

    def _key(self, function: FunctionValue, call: Call) -> Hashable:
        """A key that calls of the same kind share; each of its summaries is compared in full."""
        interpreter = self._interpreter
        budget = interpreter.budget
        return (
            function.node,
            call.node is function.node,
            budget.sparing,
            tuple(map(_sort, call.args)),
            tuple([(word, _sort(value)) for word, value in call.kwargs.items()]),
        )

    def _recorded(
        self, inputs: tuple[object, ...], call: Call, follow: Callable[[Call], Value]
    ) -> tuple[_Summary | None, Value | None]:
        """Run a call; its summary, if it can have one, and its result, None if no path returns."""
        interpreter = self._interpreter
        ledger, progress = interpreter.context.ledger, interpreter.progress
        layer = call.store.fork()
        unknowns, events = progress.unknowns, progress.events
        added, count = interpreter.findings.added, len(interpreter.findings.added)
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
        if budget.left <= 0 or budget.exhaustions != exhaustions:
            return None, outcome
        summary = _Summary(
            inputs,
            outcome,
            layer.cells if outcome is not None else {},
            ledger.attributes_in(layer.cells),
            recording,
            range(recording.since.start, ledger.new()),
            circumstances.answers(call.frame),
            progress.round if progress.round in circumstances.rounds else None,
            frozenset(errors),
            progress.unknowns - unknowns,
            progress.events - events,
            None if interpreter.findings.silent else tuple(added[count:]),
            heard=circumstances.heard,
        )
        return summary, outcome

    def _instantiated(self, summary: _Summary, renaming: Renaming, call: Call) -> Value:
        """Apply a summary: write its effects to the store, and return its result."""
        interpreter = self._interpreter
        ledger, progress = interpreter.context.ledger, interpreter.progress
        progress.unknowns += summary.unknowns
        progress.events += summary.events
        progress.errors |= summary.errors
        effects = summary.effects
        for number in effects.made:
            renaming.pair(number, ledger.new())
        for own_key, states in effects.passed:
            counterpart = renaming.renamed(own_key)
            if ledger.keeps_writes(counterpart):
                call.store.pass_through(counterpart, map(renaming.renamed, states))
        if summary.outcome is None:
            raise PathEnds
        if not summary.reported:  # the call takes its arguments on this path
            interpreter.findings.judged.hear(call.frame.environment.number, call.node)
        call.store.restore(renaming.entries(effects.cells))
        for key, _ in effects.cells:
            if key in summary.attribute_cells:
                ledger.add_attribute(*renaming.renamed(key))
        for address, initial in effects.first:
            call.store.note_initial(renaming.renamed(address), renaming.renamed(initial))
        if effects.added is not None:
            equalities.add(renaming.renamed(effects.added), call.store)
        for number in effects.made:
            ledger.mark_alike(number, renaming.numbers[number])
        outcome: Value = renaming.renamed(summary.outcome)
        ledger.meter.spend(renaming.steps + len(effects.cells))
        return outcome


@dataclass(frozen=True, slots=True)
class _Effects:
    """The effects of a call: the `cells` after it, and the contents that cells `passed` through.

    `made` are the numbers of the objects that the call made and that are still reachable, `needed`
    those of older objects. `first` has the contents with which mutable values were made, and
    `added` the equations of sizes that the call has added.
    """

    cells: tuple[tuple[Hashable, Any], ...]
    passed: tuple[tuple[Hashable, tuple[Any, ...]], ...]
    first: tuple[tuple[Hashable, Any], ...]
    added: Equations | None
    made: tuple[int, ...]
    needed: Numbers


class _Summary:
    """The outcome of one call, and what it depends on: arguments, contents of cells, circumstances.

    The effects are computed when a second call is compared: most functions are called once.
    """

    __slots__ = (
        "_added",
        "_cells",
        "_effects",
        "_equations",
        "_initials",
        "_inputs",
        "_is_silent",
        "_made",
        "_passed",
        "_reads",
        "_unassumed",
        "_untouched",
        "_unwritten",
        "answers",
        "attribute_cells",
        "errors",
        "events",
        "heard",
        "outcome",
        "reported",
        "round",
        "unknowns",
        "usable",
    )

    def __init__(
        self,
        inputs: tuple[object, ...],
        outcome: Value | None,
        cells: Mapping[Hashable, Any],
        attribute_cells: frozenset[Hashable],
        recording: Recording,
        made_numbers: range,
        answers: Answers,
        round_: int | None,
        errors: frozenset[str],
        unknowns: int,
        events: int,
        reported: tuple[FindingKey, ...] | None,
        *,
        heard: bool,
    ) -> None:
        self._inputs = inputs
        self.outcome = outcome
        reads = {key: content for key, content in recording.reads.items() if content is not OWN}
        # The equations before the call are read apart, and those that it adds are written apart,
        # unless it writes its own into others that hold.
        self._equations: Any = _NONE_READ
        self._added: Equations | None = None
        before = reads.get(EQUAL_SIZES, _NONE_READ)
        if before is not _NONE_READ:
            added = equalities.added(before, cells.get(EQUAL_SIZES, before))
            if added is not None:
                self._equations, self._added = reads.pop(EQUAL_SIZES), added
                cells = {key: content for key, content in cells.items() if key is not EQUAL_SIZES}
        self._cells = cells
        self.attribute_cells = attribute_cells
        self._passed = tuple(
            (key, states)
            for key, written in recording.written.items()
            if key is not EQUAL_SIZES or self._equations is _NONE_READ
            for last in [cells.get(key, ABSENT)]
            for states in [tuple([state for state in written.values() if state is not last])]
            if states
        )
        self._reads = list(reads.items())
        self._untouched = frozenset(recording.untouched)
        self._unassumed = recording.unassumed
        self._unwritten = recording.unwritten
        self._made = made_numbers
        self._initials = recording.initials
        self._effects: _Effects | None = None
        self.answers = answers
        self.round = round_
        self.errors = errors
        self.unknowns = unknowns
        self.events = events
        self._is_silent = reported is None
        self.reported = reported or ()
        self.heard = heard
        self.usable = True

    @property
    def effects(self) -> _Effects:
        """The effects of the call; only after `renaming` has compared a call."""
        assert self._effects is not None, "the summary has not been compared with a call"
        return self._effects

    def holds(self, sink: Findings, *, is_silent: bool) -> bool:
        """Whether a call that is silent, or is not, may have the same outcome.

        Where findings are reported, those of the call were, and none of them was dropped since.
        """
        if self._is_silent:
            return is_silent
        if is_silent:
            return not self.heard
        return all(key in sink.entries for key in self.reported)

    def renaming(
        self, inputs: tuple[object, ...], call: Call, round_: int, numbering: Numbering
    ) -> Renaming | None:
        """The renaming of its numbers to those of another call; None if the kinds differ."""
        if not self.usable or not self.answers.hold(call.node, call.frame):
            return None
        renaming = Renaming(numbering)
        try:
            if not renaming.matches(self._inputs, inputs):
                return None
            if self.round is not None and not renaming.matches(self.round, round_):
                return None
            if self._effects is None:
                self._effects = self._reachable(numbering)
                self.usable = len(self._effects.cells) <= _MOST_CELLS
            if not self.usable or not self._finds(renaming, inputs, call.store):
                return None
        except Unpaired:
            return None
        except NotRenamable:
            self.usable = False
            return None
        return renaming

    def _finds(self, renaming: Renaming, inputs: tuple[object, ...], store: Store) -> bool:
        """Whether another call would read the same contents; extends the renaming."""
        ledger = store.ledger
        reads: list[tuple[Hashable, Any]] = []
        # In the order of their first writes: the order of a set varies with the hash seed.
        touched = sorted(self._untouched & ledger.touched.keys(), key=ledger.touched.__getitem__)
        try:
            with ledger.unrecorded():
                for key in touched:
                    other = store.get(key, ABSENT)
                    if other is not ledger.ground.get(key, ABSENT):
                        return False
                    reads.append((key, other))
                for position, (key, content) in enumerate(self._reads):
                    counterpart = renaming.renamed(key)
                    other = store.get(counterpart, ABSENT)
                    absent = _is_absent(key, other) and _is_absent(key, content)
                    if not absent and not renaming.matches(content, other):
                        self._ask_early(position, renaming.numbering)
                        return False
                    reads.append((counterpart, other))
                for key in self._written_since(renaming, ledger):
                    if store.get(key) is not None:
                        return False
                    reads.append((key, ABSENT))
                if self._equations is not _NONE_READ:
                    other = store.get(EQUAL_SIZES, ABSENT)
                    if not _match_equations(
                        self._equations,
                        other,
                        renaming,
                        lambda: self._words_met(
                            (self._inputs, *self._reads, *self._unassumed), renaming, store
                        ),
                        lambda: self._words_met(
                            (inputs, *reads, *map(renaming.renamed, self._unassumed)),
                            renaming,
                            store,
                        ),
                    ):
                        return False
                    reads.append((EQUAL_SIZES, other))
        finally:
            # What differs mostly differs early.
            ledger.meter.spent += 4 + 4 * len(reads)
        if not self.effects.needed <= renaming.numbers.keys():
            # It gives objects that it has not met: nothing tells those of another call.
            self.usable = False
            return False
        recording = ledger.recording
        if recording is not None:
            recording.read_all(store, reads)
            self._note_absent(recording, renaming, ledger)
            recording.untouched |= (
                self._untouched.difference(touched) if touched else self._untouched
            )
        return True

    def _written_since(self, renaming: Renaming, ledger: Ledger) -> Iterator[Hashable]:
        """What the call asked for in vain, if any path has written it by now."""
        for subject, fact_types in self._unassumed.items():
            counterpart = renaming.renamed(subject)
            if counterpart in ledger.subjects:
                for fact_type in fact_types:
                    yield fact_type(counterpart)
        yield from filter(ledger.may_hold, map(renaming.renamed, self._unwritten))

    def _note_absent(self, recording: Recording, renaming: Renaming, ledger: Ledger) -> None:
        """Note what another call has asked for in vain, as no path has written it."""
        for subject, fact_types in self._unassumed.items():
            counterpart = renaming.renamed(subject)
            if counterpart not in ledger.subjects:
                recording.finds_unassumed(counterpart, *fact_types)
        for address in map(renaming.renamed, self._unwritten):
            if not ledger.may_hold(address):
                recording.unwritten[address] = None

    def _words_met(
        self, met: Iterable[object], renaming: Renaming, store: Store
    ) -> Collection[str]:
        """The words in all that a call has met, of older analyses too."""
        made_before = [(key, store.get(key, ABSENT)) for key in self._untouched]
        return renaming.numbering.wording.of_all((*met, *made_before))

    def _ask_early(self, position: int, numbering: Numbering) -> None:
        """Compare this read before the others from now on: what differed once differs often."""
        key, _ = self._reads[position]
        if position > _EARLY and numbering.of(key) <= numbering.of_all(self._inputs):
            self._reads.insert(0, self._reads.pop(position))

    def _reachable(self, numbering: Numbering) -> _Effects:
        """The effects of the call, without objects that nothing refers to any more."""
        made, cells = self._made, self._cells
        kept, met = reachable(cells, [self.outcome, *self._passed], made, numbering)
        in_order = [key for key in cells if key in kept]
        initials = [(key, self._initials[key]) for key in in_order if key in self._initials]
        met |= numbering.of_all([self._added, *(initial for _, initial in initials)])
        fresh = sorted(number for number in met if number in made)
        return _Effects(
            tuple((key, cells[key]) for key in in_order),
            self._passed,
            tuple(initials),
            self._added,
            tuple(fresh),
            frozenset(met.difference(fresh)),
        )


def _is_absent(read_key: Hashable, content: Any) -> bool:
    """Whether a cell has no content; a fact that no path assumes any more is as good as none."""
    return content is ABSENT or (content is None and isinstance(read_key, Fact))


def _match_equations(
    content: Any,
    other_content: Any,
    renaming: Renaming,
    find_words: _FindWords,
    find_other_words: _FindWords,
) -> bool:
    """Whether two calls meet the same equations; pairs the numbers in them.

    All else that the calls have met has been compared before.
    """
    own = _about(content, renaming.numbers, find_words)
    counterpart = _about(other_content, renaming.counterparts, find_other_words)
    return renaming.matches(own, counterpart)


def _about(content: Any, paired: Collection[int], find_words: _FindWords) -> Equations | None:
    """The equations that a call has met, which has paired these numbers."""
    if not isinstance(content, Equations):
        return None

    def is_possible(word: str) -> bool:
        scopes = naming.scopes(word)
        return not scopes or any(scope in paired for scope in scopes)

    met: Collection[str] | None = None

    def is_met(word: str) -> bool:
        nonlocal met
        if not is_possible(word) or naming.is_number(word):
            return is_possible(word)  # the name of a number is made where it is used as a size
        if met is None:
            met = find_words()
        return word in met

    return content.about(is_met, paired)


def _sort(value: Value) -> Hashable:
    """A cheap part of the kind of an argument: equal for values that a renaming can match."""
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


def _inputs(function: FunctionValue, call: Call) -> tuple[object, ...]:
    """All inputs of a call that are not in the store, but for its circumstances."""
    arguments = call.arguments
    return (
        function,
        tuple(arguments.args),
        tuple(arguments.kwargs.items()),
        arguments.open,
        arguments.rest,
        arguments.begun,
        root(call.frame),
    )
