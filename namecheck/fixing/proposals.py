"""Decides which fixes hold: each is tried in memory before it is offered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Final, NoReturn, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.core.file_replacement import CannotWrite
from namecheck.core.findings import Finding, Fix, Point, Span
from namecheck.core.refusals import Reason, Refusal
from namecheck.core.syntax import Refused
from namecheck.editing.documents import Document, read
from namecheck.editing.edits import Overlap, applied
from namecheck.editing.sites import Site
from namecheck.fixing.registry import fixers
from namecheck.fixing.trials import Shift, Trials, come, stays
from namecheck.project.files import Reads

_OF_COMMENTS: Final = frozenset({"NC010"})

Stretch: TypeAlias = tuple[Point, Point]

# The known places of so many versions of files are kept.
_KEPT: Final = 16
# How many findings one fix may remove, each of which appears after the previous one is gone.
_LINKS: Final = 4
# So many steps are spent on trials of single findings of one file; the others are tried together.
ALONE: Final = 300_000


@dataclass(frozen=True)
class State:
    """A file after some fixes."""

    document: Document
    shifts: tuple[Shift, ...] = ()
    fixes: tuple[Fix, ...] = ()

    def after(self, fix: Fix) -> State | Refusal:
        """The file after one more fix, or the reason why there is no such file."""
        try:
            document = applied(self.document, fix.edits)
            document.source  # noqa: B018 - it is parsed by being asked for
        except Overlap:
            return Refusal(fix, Reason.CLASHES)
        except CannotWrite:
            return Refusal(fix, Reason.UNWRITABLE)
        except Refused:
            return Refusal(fix, Reason.UNPARSABLE)
        shift = Shift(self.document, fix.edits, document)
        return State(document, (*self.shifts, shift), (*self.fixes, fix))


@dataclass(frozen=True)
class Attempt:
    """The result of trying the fixes of a finding.

    `fix` is the one that holds, `refusals` are the earlier ones that do not hold; it is `untried`
    where not even the first check was worth it.
    """

    fix: Fix | None = None
    refusals: tuple[Refusal, ...] = ()
    untried: bool = False

    @property
    def given_up(self) -> bool:
        """Whether the remaining fixes need too much checking."""
        return self.untried or any(each.reason is Reason.TOO_LONG for each in self.refusals)


class _TooLong(Exception):
    """A fix needs too much checking."""


class Proposals:
    """The fixes that hold, for findings in files with the contents of the trials.

    For one finding, a trial is started only if at most `patience` steps were spent for it.
    """

    def __init__(self, trials: Trials, patience: int) -> None:
        self._trials = trials
        self.patience = patience
        self._documents: dict[str, Document | None] = {}
        self._before: dict[frozenset[str], tuple[tuple[Finding, ...], Reads]] = {}
        self._sites: dict[tuple[str, bytes], Site] = {}
        self._known: dict[tuple[str, bytes], tuple[frozenset[Stretch], Reads]] = {}

    def renew(self, location: str, document: Document) -> None:
        """Replace a file by the result of fixes."""
        self._documents[location] = document
        self._trials.overlay[location] = document.data
        self._before.clear()

    def document(self, location: str) -> Document | None:
        """The current file; None where it cannot be read or rewritten."""
        if location not in self._documents:
            data = self._trials.overlay.get(location)
            try:
                document = read(location) if data is None else Document.of(data, location)
            except (OSError, Refused):
                document = None
            self._documents[location] = document
        return self._documents[location]

    def findings(self, locations: Collection[str]) -> tuple[Finding, ...]:
        """The current findings in some files."""
        key = frozenset(locations)
        if key not in self._before:
            self._before[key] = self._trials.noted(lambda: self._trials.findings(key, {}))
        findings, reads = self._before[key]
        self._trials.reads.join(reads)
        return findings

    def attempt(self, finding: Finding) -> Attempt:
        """Try the fixes of a finding: none holds where it is unclear which one is meant."""
        location = self._trials.location(finding.filename)
        document = None if location is None else self.document(location)
        if location is None or document is None or finding.code not in fixers():
            return Attempt()
        trial = _Trial(self, self._trials, location, finding)
        try:
            state = trial.mended(State(document), finding, _LINKS)
        except _TooLong:
            state = None
        refusals = tuple(trial.refusals)
        if state is None:
            return Attempt(None, refusals)
        if len(state.fixes) == 1:
            return Attempt(state.fixes[0], refusals)
        from namecheck.editing.differences import difference  # fixes of several steps are rare

        message = " ".join(dict.fromkeys(fix.message for fix in state.fixes))
        safe = all(fix.safe for fix in state.fixes)
        return Attempt(Fix(message, safe, difference(document, state.document)), refusals)

    def attempts(self, findings: Sequence[Finding]) -> dict[Finding, Attempt]:
        """Try the fixes of findings in one file: alone, and together where that costs too much."""
        if not self._trials.may_begin:
            return {one: Attempt(untried=one.code in fixers()) for one in findings}
        attempts: dict[Finding, Attempt] = {}
        begun = self._trials.spent
        for finding in findings:
            if self._trials.spent - begun > ALONE:
                break
            attempts[finding] = self.attempt(finding)
        remaining = [finding for finding in findings if finding not in attempts]
        if len(remaining) > 1:
            attempts |= self.together(remaining)
        return {one: attempts.get(one) or self.attempt(one) for one in findings}

    def together(self, findings: Sequence[Finding]) -> dict[Finding, Attempt]:
        """The results for findings of one file, those that are certain when tried together."""
        from namecheck.fixing import groups  # few files have so many findings

        location = self._trials.location(findings[0].filename)
        document = None if location is None else self.document(location)
        if location is None or document is None:
            return {}
        tried = groups.tried(self, self._trials, location, State(document), findings)
        return {each.finding: Attempt(each.fix, tuple(each.refusals)) for each in tried}

    def after(self, location: str, mended: Sequence[Finding], fix: Fix) -> State | None:
        """The file after the fix of several findings; None where it does not hold."""
        document = self.document(location)
        state = None if document is None else State(document).after(fix)
        if not isinstance(state, State):
            return None
        around = frozenset().union(*map(self._trials.around, mended), {location})
        before = self.findings(around)
        after = self._trials.findings(around, {location: state.document.data})
        shifts = {mended[0].filename: state.shifts}
        spoilt = any(stays(finding, after, shifts) for finding in mended)
        return None if spoilt or any(come(before, after, shifts)) else state

    def known_stretches(self, document: Document) -> frozenset[Stretch]:
        """The places of the tensors in one file, checked by itself, whose dims are all known."""
        key = document.location, document.data
        if key not in self._known:
            if len(self._known) > _KEPT:
                self._known.clear()
            self._known[key] = self._trials.noted(lambda: self._revealed(document))
        stretches, reads = self._known[key]
        self._trials.reads.join(reads)
        return stretches

    def lost_stretches(self, before: Document, state: State) -> list[Stretch]:
        """The places whose dims are known in a file, and no longer after fixes."""
        stretches = self.known_stretches(state.document)
        known = self.known_stretches(before)
        self._trials.count_comparison(len(known))
        return [one for one in sorted(known) if not _stays_known(one, state, stretches)]

    def _revealed(self, document: Document) -> frozenset[Stretch]:
        from namecheck.project.file_check import reveal  # with the interpreter

        settings = self._trials.entry(document.location).settings
        trials = self._trials
        trials.count_record()
        try:
            shown = reveal(document.data, document.location, settings, trials.overlay, trials.reads)
        except Refused:
            return frozenset()
        return frozenset((one.span.start, one.span.end) for one in shown if _is_known(one.dims))

    def site(self, document: Document) -> Site:
        """The tree of a file, in the form that fixes use."""
        key = document.location, document.data
        site = self._sites.get(key)
        if site is None:
            settings = self._trials.entry(document.location).settings
            site = Site(document.source, settings, self._trials.files, self._trials.imported)
            self._sites = {key: site}
        return site


def _is_known(shown: str) -> bool:
    """Whether all names and the number of the dims are known."""
    return not any(word.startswith(("?", "...")) for word in shown.split(" "))


def _stays_known(stretch: Stretch, state: State, stretches: frozenset[Stretch]) -> bool:
    starts, ends = frozenset({stretch[0]}), frozenset({stretch[1]})
    for shift in state.shifts:
        starts, ends = shift.points(starts), shift.points(ends)
    moved = {(start, end) for start in starts for end in ends if start <= end}
    return any(one in stretches or _bared(one, state.document) in stretches for one in moved)


def _bared(stretch: Stretch, document: Document) -> Stretch:
    """A stretch without its parentheses, which are no part of an expression."""
    (line, column), (end_line, end_column) = stretch
    text = document.source.segment(Span(*stretch[0], *stretch[1]))
    if not (text.startswith("(") and text.endswith(")")):
        return stretch
    return (line, column + 1), (end_line, end_column - 1)


class _Trial:
    """The search for a fix of one finding; `refusals` are its own fixes that do not hold."""

    def __init__(
        self, proposals: Proposals, trials: Trials, location: str, finding: Finding
    ) -> None:
        self._proposals = proposals
        self._trials = trials
        self._location = location
        self._first = finding
        self._begun = trials.spent
        self.refusals: list[Refusal] = []

    @cached_property
    def _files(self) -> frozenset[str]:
        """The files from which the finding is reached."""
        around = self._trials.around(self._first)
        is_reached = stays(self._first, self._proposals.findings(around), {})
        return around if is_reached else self._trials.depending({self._location})

    def mended(self, state: State, finding: Finding, links: int) -> State | None:
        """The file after the first kind of fix that holds; None if several proposals hold.

        Raises `_TooLong`.
        """
        for fixer in fixers().get(finding.code, ()):
            if state.fixes and fixer.searches:
                continue
            mended: list[State] = []
            for fix in fixer.fixes(finding, self._proposals.site(state.document)):
                result = self._tried(state, fix, links)
                if isinstance(result, State):
                    mended.append(result)
                elif not state.fixes:
                    self.refusals.append(result)
            if len(mended) == 1:
                return mended[0]
            if mended:
                if not state.fixes:
                    self.refusals += [Refusal(one.fixes[0], Reason.AMBIGUOUS) for one in mended]
                return None
        return None

    def _tried(self, state: State, fix: Fix, links: int) -> State | Refusal:
        """The file after a fix and after fixes of the findings that it uncovers, if all hold."""
        if self._trials.spent - self._begun > self._proposals.patience:
            self._give_up((*state.fixes, fix)[0])
        before = self._proposals.findings(self._files)  # which tells what a check costs
        if not self._trials.may_check:
            self._give_up((*state.fixes, fix)[0])
        changed = state.after(fix)
        if isinstance(changed, Refusal):
            return changed
        after = self._trials.findings(self._files, {self._location: changed.document.data})
        shifts = {self._first.filename: changed.shifts}
        if stays(self._first, after, shifts):
            return Refusal(fix, Reason.STAYS)
        new = tuple(come(before, after, shifts))
        if not new:
            return changed if self._is_followed(changed) else Refusal(fix, Reason.OBSCURES)
        further = None
        if links > 1 and new[0].filename == self._first.filename:
            further = self.mended(changed, new[0], links - 1)
        return Refusal(fix, Reason.BRINGS, new) if further is None else further

    def _is_followed(self, state: State) -> bool:
        """Whether the analysis knows as much about the file as before.

        Otherwise the finding may be gone only because the change is not understood.
        """
        before = self._proposals.document(self._location)
        if before is None or self._first.code in _OF_COMMENTS:
            return True
        if not self._trials.may_record:
            self._give_up(state.fixes[0])
        return not self._proposals.lost_stretches(before, state)

    def _give_up(self, fix: Fix) -> NoReturn:
        self.refusals.append(Refusal(fix, Reason.TOO_LONG))
        raise _TooLong
