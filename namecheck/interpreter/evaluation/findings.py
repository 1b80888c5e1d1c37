"""The findings of one analysis: the sink, and how a contradiction becomes a finding."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final, NoReturn

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.faults import Exhausted
from namecheck.core.findings import Facts, Finding, Place, Span, is_of_sizes
from namecheck.core.names import Contradiction
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.interpreter.domain import equalities, scopes
from namecheck.interpreter.domain.cells import FOREIGN
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.context import Context, Progress
from namecheck.interpreter.evaluation.frames import UNKNOWN_ERROR, Frame, PathEnds
from namecheck.interpreter.evaluation.judged import Judged, Key, Site

# The codes that only declarations raise.
_DECLARED: Final = frozenset({"NC112", "NC210", "NC211", "NC301", "NC410"})

# The codes that a wrong number of dims raises. A function that takes inputs of several ranks has a
# branch for each, which no input takes together; a name is another matter.
_OF_RANKS: Final = frozenset({"NC203", "NC206", "NC207"})

NOT_JUDGED: Final = "NC091"
"""The note about code that is not judged."""


@dataclass(slots=True)
class Findings:
    """The sink of findings, each once for its place and code.

    `names` has the names that each finding is about; a note has none. While `silent` is not 0 the
    sink ignores findings. `added` lists the keys of all that were added, equal ones each time.
    `told` has those of findings that more than the names of the code itself tell.
    """

    entries: dict[Key, Finding] = field(default_factory=dict)
    names: dict[Key, frozenset[str]] = field(default_factory=dict)
    silent: int = 0
    judged: Judged = field(default_factory=lambda: Judged())
    added: list[Key] = field(default_factory=list)
    told: set[Key] = field(default_factory=set)

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Ignore findings within the block."""
        self.silent += 1
        try:
            yield
        finally:
            self.silent -= 1

    @contextmanager
    def until_silenced(self, *, silent: bool = False) -> Iterator[Callable[[], None]]:
        """Record findings in the block until the yielded function is called; none if `silent`."""
        outer = self.silent
        self.silent += silent

        def silence() -> None:
            self.silent = max(self.silent, outer + 1)

        try:
            yield silence
        finally:
            self.silent = outer

    def drop(self, count: int, filename: str, span: Span) -> None:
        """Remove the findings at a place that came after the first `count` ones."""
        for key in self._since(count):
            if key[:2] == (filename, span):
                self._remove(key)

    def drop_code(self, count: int, code: str) -> None:
        """Remove the findings of a code that came after the first `count` ones."""
        for key in self._since(count):
            if self.entries[key].code == code:
                self._remove(key)

    def drop_observed(self, count: int) -> None:
        """Remove those after the first `count` ones that only the names of the code itself tell."""
        for key in self._since(count):
            if key in self.judged.failed and key not in self.told:
                self._remove(key)

    def _since(self, count: int) -> list[Key]:
        """The keys of the entries after the first `count` ones, the last one first.

        The cost is that of these alone: of many entry points each asks for the few of its own.
        """
        return list(islice(reversed(self.entries), len(self.entries) - count))

    def _remove(self, key: Key) -> None:
        del self.entries[key]
        self.names.pop(key, None)
        self.told.discard(key)
        self.judged.forget(key)

    def add(
        self,
        finding: Finding,
        about: frozenset[str],
        sites: tuple[Site, ...] = (),
        *,
        is_observed: bool = False,
    ) -> None:
        """Add a finding; the first one of its place and code is kept.

        It is doubtful if its run has a path without it at one of its `sites`.
        """
        key = finding.filename, finding.span, finding.code
        self.added.append(key)
        if not is_observed:
            self.told.add(key)
        self.judged.failed.setdefault(key, set()).add(sites)
        self.entries.setdefault(key, finding)
        self.names.setdefault(key, about)

    def add_note(self, note: Finding) -> None:
        """Add a note, once for each place and message."""
        self.entries.setdefault((note.filename, note.span, f"{note.code} {note.message}"), note)


class CurrentFile:
    """The file whose code is being run, and the statement in it."""

    __slots__ = ("source", "statement")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.statement: ast.stmt | None = None

    @contextmanager
    def switched(self, source: Source) -> Iterator[None]:
        """Run code of another file within the block."""
        outer, statement = self.source, self.statement
        self.source = source
        try:
            yield
        finally:
            self.source, self.statement = outer, statement


class Reporter:
    """Makes findings from contradictions, with the place, the origins and the calling frames.

    `brief` returns a short text for the dims of a value, empty where nothing is known about it.
    `are_apart` says whether a contradiction is between an axis of a class and one of its method,
    which may be one dim.
    """

    def __init__(
        self,
        context: Context,
        sink: Findings,
        progress: Progress,
        file: CurrentFile,
        brief: Callable[[Value, Store], str],
        are_apart: Callable[[Contradiction, Frame], bool],
    ) -> None:
        self._context = context
        self._findings = sink
        self._progress = progress
        self._file = file
        self._brief = brief
        self._is_given_up = False
        self._are_apart = are_apart

    def place(self, node: Node, message: str) -> Place:
        """A stretch of the current file, with a message."""
        return place_of(self._file.source, node, message)

    def report(
        self,
        contradiction: Contradiction,
        node: Node,
        store: Store,
        frame: Frame,
        marks: tuple[Place, ...] = (),
        origins: tuple[Place, ...] = (),
        *,
        by_axes: bool = False,
        facts: Facts | None = None,
        is_observed: bool = False,
    ) -> None:
        """Add a finding at a node; where an error is expected the path ends instead.

        On a path for another library version, or for a value that is not meant, nothing is
        reported, as nothing is certain there. In a branch that nobody can decide, and in what it
        calls, a wrong rank is doubtful if the same run passes there on another path: it needs two
        branches together.
        """
        progress, recorder = self._progress, self._context.recorder
        progress.events += 1
        if progress.around is not None:
            progress.around.at_site |= progress.around.node is node
        if by_axes and (
            equalities.are_adapted(contradiction.names, store)
            or self._are_apart(contradiction, frame)
        ):
            progress.unknowns += 1
            return
        judged = not self._findings.silent and store.get(FOREIGN) is None
        code = contradiction.code
        if code in _DECLARED or (by_axes and not is_of_sizes(code)):
            self._ask_guards()
            expected = frame.foresees() or (code not in _DECLARED and frame.tries())
            progress.unknowns += 1  # sizes that differ along with the names make torch raise anyway
        else:
            expected = self.expects(contradiction.error, frame)
        if recorder is not None and not expected:
            recorder.contradicted(node)
        if judged and (recorder is not None or not expected):
            source = self._file.source
            finding = Finding(
                contradiction.code,
                contradiction.message,
                source.filename,
                source.span(node),
                contradiction.help,
                marks,
                (*origins, *self._calls(frame)),
                contradiction.error,
                by_axes,
                facts or Facts(words=contradiction.names),
            )
            if recorder is not None:
                recorder.finding(node, finding)
            if not expected:
                about = frozenset(contradiction.names)
                sites = tuple(self._sites(node, frame, code, is_observed=is_observed))
                self._findings.add(finding, about, sites, is_observed=is_observed)
        if expected:
            self.fail(contradiction.error)

    def _sites(self, node: Node, frame: Frame, code: str, *, is_observed: bool) -> Iterator[Site]:
        """Where a path without a finding makes it doubtful: at its place, or at a call around it.

        At a call only ranks are doubtful, and only in a branch that nobody can decide.
        """
        judged = self._findings.judged
        if is_observed or (frame.undecided and code in _OF_RANKS):
            yield judged.site(frame.environment.number, node)
        if code in _OF_RANKS:
            calls = judged.calls_around(frame)
            yield from (site for caller, site in calls if caller.undecided)

    def expects(self, error: str, frame: Frame) -> bool:
        """Whether the program expects an error of this type in a frame."""
        self._ask_guards()
        return frame.expects(error)

    def _ask_guards(self) -> None:
        if self._progress.around is not None:
            self._progress.around.guarded = True

    def fail(self, error: str = UNKNOWN_ERROR) -> NoReturn:
        """End a path with an error of this built-in type."""
        self._progress.events += 1
        self._progress.errors.add(error)
        raise PathEnds

    def note(self, code: str, message: str, node: Node) -> None:
        """Add a note."""
        self._progress.events += 1
        if not self._findings.silent:
            source = self._file.source
            self._findings.add_note(Finding(code, message, source.filename, source.span(node)))

    def give_up(self, node: Node, cause: RecursionError | Exhausted) -> None:
        """Note that a function, or a statement at the top level, is not judged to its end."""
        source, meter = self._file.source, self._context.ledger.meter
        self._progress.events += 1
        if self._is_given_up:
            return
        self._is_given_up = meter.is_spent
        self._file.statement = node if isinstance(node, ast.stmt) else None
        is_steps = isinstance(cause, Exhausted)
        self._context.ledger.reach("steps" if is_steps else "depth of the stack")
        what = (
            f"'{node.name}'"
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            else "This statement"
        )
        why = "its analysis takes more steps than it may" if is_steps else "it exhausts the stack"
        message = f"{what} is not judged to its end: {why}."
        if meter.is_spent:
            message = (
                f"{'Attributes are' if meter.is_brief else 'The file is'} not judged from here on: "
                "the analysis of the file takes more steps than it may."
            )
        line, column = source.span(node).start
        place = Span(line, column, line, column + 1)
        self._findings.add_note(Finding(NOT_JUDGED, message, source.filename, place))
        meter.begin()

    def _calls(self, frame: Frame) -> tuple[Place, ...]:
        """The calls that lead to the current code, the innermost first."""
        call_places: list[Place] = []
        for entered in frame.stack():
            caller, site = entered.caller, entered.site
            # A call made as if from another file has no place of its own, only that of the
            # function.
            if caller is not None and site is not None and site is not entered.environment.scope:
                source = self._context.source_of(caller.environment)
                call_places.append(place_of(source, site, self._call_message(entered, source)))
        return tuple(call_places)

    def _call_message(self, frame: Frame, source: Source) -> str:
        """The message at a call: the calling file, if it is another, and the tensor arguments."""
        here, there = f"'{frame.name}' is called", ""
        if source is not self._context.source_of(frame.environment):
            line = source.span(frame.site).line if frame.site else 0
            there = f" from {os.path.basename(source.filename)}:{line}"
        tensors = self._tensors(frame)
        with_ = f" with {', '.join(tensors)}" if tensors else ""
        return f"{here}{there or ' here'}{with_}"

    def _tensors(self, frame: Frame) -> list[str]:
        """The tensor arguments of a function, each with its parameter: ``x: [N C]``."""
        call, node = frame.call, frame.environment.scope
        if call is None or not isinstance(node, scopes.FUNCTIONS):
            return []
        arguments = list(call.kwargs.items())
        parameters = (p.arg for p in (*node.args.posonlyargs, *node.args.args))
        arguments[:0] = zip(parameters, call.args, strict=False)
        shown = ((name, self._brief(value, call.store)) for name, value in arguments)
        return [f"{name}: [{dims}]" for name, dims in shown if dims]


def place_of(source: Source, node: Node, message: str) -> Place:
    """The place of a node in a file, with a message."""
    return Place(source.filename, source.span(node), message)
