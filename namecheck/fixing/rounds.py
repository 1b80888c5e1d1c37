"""Applies all fixes of a run: each file to a fixed point, then all files checked together.

Fixes that clash wait for the next round; a change that causes a finding in another file is undone.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Edit, Finding, Fix
from namecheck.editing.documents import Document
from namecheck.editing.edits import Overlap, ordered
from namecheck.fixing import ignores
from namecheck.fixing.offers import PATIENCE
from namecheck.fixing.proposals import Proposals, State
from namecheck.fixing.trials import LIMIT, NO_COSTS, Shift, Trials, come, is_note
from namecheck.project import Entry
from namecheck.project.files import NOTHING

# How many rounds a file, and the whole run, may take.
_ROUNDS: Final = 10
_PASSES: Final = 3
# How many steps may be spent to find the fixes of one file; the rest is for applying them.
_FOUND: Final = LIMIT * 3 // 4


@dataclass(frozen=True)
class Change:
    """A file before and after; `linked` as its entry is."""

    path: str
    before: Document
    after: Document
    linked: bool = False


@dataclass(frozen=True)
class Mending:
    """The result of applying fixes to a run.

    `fixed` findings are gone, `left` are those that remain; unsafe fixes would remove `unsafe` of
    them. `ignored` tells by path how many are suppressed by new comments. `undone` has the files
    whose fixes together would have caused findings, with these findings. For `untried` findings it
    would have taken too much to try their fixes.
    """

    changes: tuple[Change, ...]
    fixed: int
    left: tuple[Finding, ...]
    unsafe: int
    ignored: Mapping[str, int]
    undone: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    untried: int = 0


@dataclass(frozen=True, slots=True)
class Wishes:
    """The requested changes: safe fixes, unsafe ones too, comments for remaining findings."""

    safe: bool = True
    unsafe: bool = False
    ignores: bool = False


def mend(
    entries: Sequence[Entry],
    findings: Sequence[Finding],
    wishes: Wishes,
    overlay: Mapping[str, bytes] = NOTHING,
    costs: Mapping[str, int] = NO_COSTS,
) -> Mending:
    """Fix the findings in these files; nothing is written.

    `overlay` has contents of files, by location, in place of those on the disk; `costs` are the
    steps that their checks took.
    """
    return _Mender(entries, findings, wishes, overlay, costs).mended()


@dataclass
class _File:
    """A file that is being changed: before, now, and how its positions have moved."""

    before: Document
    shifts: list[Shift] = field(default_factory=list)


class _Mender:
    def __init__(
        self,
        entries: Sequence[Entry],
        findings: Sequence[Finding],
        wishes: Wishes,
        overlay: Mapping[str, bytes],
        costs: Mapping[str, int],
    ) -> None:
        self._trials = Trials(entries, costs)
        self._trials.overlay.update(overlay)
        self._proposals = Proposals(self._trials, PATIENCE)
        self._wishes = wishes
        self._findings = tuple(finding for finding in findings if not is_note(finding))
        self._changed: dict[str, _File] = {}
        self._undone: dict[str, tuple[Finding, ...]] = {}
        self._unsafe: dict[str, int] = {}
        self._untried: dict[str, int] = {}

    def mended(self) -> Mending:
        """Go over all files until nothing changes."""
        unfixed = self._findings
        if self._wishes.safe or self._wishes.unsafe:
            for _ in range(_PASSES):
                fresh = self._pass(unfixed)
                if fresh is None:
                    break
                unfixed = fresh
        fixed = len(self._findings) - len(unfixed)
        ignored = Counter[str]()
        if self._wishes.ignores:
            ignored = Counter(finding.filename for finding in unfixed)
            unfixed = self._ignoring(unfixed)
            ignored -= Counter(finding.filename for finding in unfixed)
        return self._mending(fixed, unfixed, ignored)

    def _mending(
        self, fixed: int, unfixed: tuple[Finding, ...], ignored: Mapping[str, int]
    ) -> Mending:
        changes = []
        for location, file in self._changed.items():
            after = self._proposals.document(location)
            if after is not None and after.data != file.before.data:
                entry = self._trials.entry(location)
                changes.append(Change(entry.path, file.before, after, entry.linked))
        unsafe = 0 if self._wishes.ignores else sum(self._unsafe.values())
        undone = {
            self._trials.entry(location).path: spoilt for location, spoilt in self._undone.items()
        }
        untried = sum(self._untried.values())
        return Mending(tuple(changes), fixed, unfixed, unsafe, ignored, undone, untried)

    # Fixes

    def _pass(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...] | None:
        """Fix every file by itself; the remaining findings, None where nothing has changed."""
        changed = [
            location
            for location, of_file in self._by_file(findings)
            if location not in self._undone and self._mend_within_limit(location, of_file)
        ]
        return self._checked() if changed else None

    def _by_file(self, findings: Sequence[Finding]) -> Iterator[tuple[str, list[Finding]]]:
        by_location: dict[str, list[Finding]] = {}
        for finding in findings:
            location = self._trials.location(finding.filename)
            if location is not None:
                by_location.setdefault(location, []).append(finding)
        yield from by_location.items()

    def _mend_within_limit(self, location: str, of_file: Sequence[Finding]) -> bool:
        with self._trials.limited(location, LIMIT):
            return self._mend_file(location, of_file)

    def _mend_file(self, location: str, of_file: Sequence[Finding]) -> bool:
        """Fix one file to a fixed point, judged from it and from the files that call it."""
        around = frozenset({location}).union(*map(self._trials.around, of_file))
        changed = False
        for _ in range(_ROUNDS):
            chosen_fixes = self._wanted(location, of_file)
            state = self._combined(location, chosen_fixes)
            if state is None:
                break
            self._take(location, state)
            changed = True
            if not self._trials.may_begin:
                break
            path = self._trials.entry(location).path
            of_file = [one for one in self._proposals.findings(around) if one.filename == path]
        return changed

    def _wanted(self, location: str, of_file: Sequence[Finding]) -> list[tuple[Finding, Fix]]:
        """The fixes of the requested kinds; the others are only counted."""
        with self._trials.limited(location, _FOUND):
            attempts = self._proposals.attempts(of_file)
        fixes = [(one, each.fix) for one, each in attempts.items() if each.fix is not None]
        self._untried[location] = sum(each.given_up for each in attempts.values())
        eligible = [(one, fix) for one, fix in fixes if fix.safe or self._wishes.unsafe]
        self._unsafe[location] = len(fixes) - len(eligible)
        return eligible

    def _combined(self, location: str, chosen_fixes: Sequence[tuple[Finding, Fix]]) -> State | None:
        """The file after all compatible fixes; None where there is none."""
        state = self._together(location, chosen_fixes)
        if state is not None or len(chosen_fixes) < 2:
            return state
        combined: list[tuple[Finding, Fix]] = []
        for pair in chosen_fixes:
            further = self._together(location, [*combined, pair])
            if further is not None:
                state = further
                combined.append(pair)
        return state

    def _together(self, location: str, chosen_fixes: Sequence[tuple[Finding, Fix]]) -> State | None:
        edits: list[Edit] = [edit for _, fix in chosen_fixes for edit in fix.edits]
        if not edits or not self._trials.may_check:
            return None
        try:
            ordered(edits)
        except Overlap:
            return None
        whole = Fix("", True, tuple(edits))
        return self._proposals.after(location, [one for one, _ in chosen_fixes], whole)

    def _take(self, location: str, state: State) -> None:
        document = self._proposals.document(location)
        assert document is not None
        file = self._changed.setdefault(location, _File(document))
        file.shifts += state.shifts
        self._proposals.renew(location, state.document)

    # The whole run

    def _checked(self) -> tuple[Finding, ...]:
        """The remaining findings in all files; a change that causes a new finding is undone."""
        while True:
            after = self._after()
            shifts = {
                self._trials.entry(location).path: file.shifts
                for location, file in self._changed.items()
            }
            spoilt = tuple(come(self._findings, after, shifts))
            if not spoilt:
                return after
            near = frozenset().union(*map(self._trials.around, spoilt)) & self._changed.keys()
            for location in near or [*self._changed]:
                self._undo(location, spoilt)

    def _after(self) -> tuple[Finding, ...]:
        """The findings in all files; files that cannot be affected are not checked again."""
        places = {os.path.abspath(finding.filename) for finding in self._findings}
        files = self._trials.depending(places | self._changed.keys())
        return self._trials.findings(files, {})

    def _undo(self, location: str, spoilt: tuple[Finding, ...]) -> None:
        self._undone[location] = spoilt
        self._proposals.renew(location, self._changed.pop(location).before)

    # Comments

    def _ignoring(self, unfixed: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Add comments for the remaining findings, if they suppress them and cause no new ones."""
        for location, of_file in self._by_file(unfixed):
            document = self._proposals.document(location)
            if document is None:
                continue
            fix = ignores.added(document, of_file)
            state = State(document).after(fix) if fix is not None else None
            if isinstance(state, State):
                self._take(location, state)
        return self._checked()
