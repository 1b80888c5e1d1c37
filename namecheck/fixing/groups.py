"""Tries the fixes of many findings in one file by few checks, each of the file after many fixes.

A fix that holds together with others would hold alone, unless one of these mends its finding too.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Edit, Finding, Fix, Point, Span
from namecheck.core.refusals import Reason, Refusal
from namecheck.fixing.registry import fixers
from namecheck.fixing.trials import come, staying

if TYPE_CHECKING:
    from namecheck.fixing.proposals import Proposals, State
    from namecheck.fixing.trials import Shift, Trials

# A finding for which more fixes of one kind are proposed is tried alone.
_WAYS: Final = 8
# So many findings are tried together.
_MOST: Final = 250


@dataclass(slots=True, eq=False)
class Candidate:
    """A finding whose fixes are tried together with those of others.

    `holding` are those that hold, all of one kind. It is `doubtful` where one may cause a finding,
    or was not tried.
    """

    finding: Finding
    refusals: list[Refusal] = field(default_factory=list)
    holding: list[Fix] = field(default_factory=list)
    doubtful: bool = False

    @property
    def fix(self) -> Fix | None:
        """The only fix that holds."""
        return self.holding[0] if len(self.holding) == 1 else None


Pair: TypeAlias = tuple[Candidate, Fix]


def tried(
    proposals: Proposals, trials: Trials, location: str, state: State, findings: Sequence[Finding]
) -> Iterator[Candidate]:
    """The findings of which it is certain whether one of their fixes holds.

    All are in one file, whose contents before all fixes are the `state`.
    """
    around = frozenset({location}).union(*map(trials.around, findings))
    present = frozenset(proposals.findings(around))
    reached = [one for one in findings if one in present and one.code in fixers()]
    for begin in range(0, len(reached), _MOST):
        group = _Group(proposals, trials, location, state, around)
        yield from group.tried(reached[begin : begin + _MOST])


class _Group:
    def __init__(
        self,
        proposals: Proposals,
        trials: Trials,
        location: str,
        state: State,
        around: frozenset[str],
    ) -> None:
        self._proposals = proposals
        self._trials = trials
        self._location = location
        self._state = state
        self._around = around
        self._site = proposals.site(state.document)

    def tried(self, findings: Sequence[Finding]) -> Iterator[Candidate]:
        candidates = [Candidate(finding) for finding in findings]
        for kind in range(max(len(fixers()[one.code]) for one in findings)):
            open_ = [each for each in candidates if not each.holding and not each.doubtful]
            self._try_kind(kind, open_)
        return (each for each in candidates if not each.doubtful)

    def _try_kind(self, kind: int, open_ones: Sequence[Candidate]) -> None:
        """Try the fixes of one kind: the first of each finding, then the second, and so on."""
        proposed = [(each, self._proposed(kind, each.finding)) for each in open_ones]
        for candidate, fixes in proposed:
            candidate.doubtful = len(fixes) > _WAYS
        for way in range(_WAYS):
            pairs = [
                (candidate, fixes[way])
                for candidate, fixes in proposed
                if way < len(fixes) <= _WAYS
            ]
            self._try(_compatible(pairs))
        for candidate in open_ones:
            if len(candidate.holding) > 1:
                candidate.refusals += [Refusal(fix, Reason.AMBIGUOUS) for fix in candidate.holding]

    def _proposed(self, kind: int, finding: Finding) -> Sequence[Fix]:
        kinds = fixers()[finding.code]
        return [*kinds[kind].fixes(finding, self._site)] if kind < len(kinds) else ()

    def _try(self, pairs: Sequence[Pair]) -> None:
        """Find out which of some compatible fixes hold; those near a new finding are doubtful."""
        if not pairs:
            return
        edits: list[Edit] = [edit for _, fix in pairs for edit in fix.edits]
        fixed_state = self._state.after(Fix("", True, tuple(edits)))
        if isinstance(fixed_state, Refusal) or not self._trials.may_check:
            _doubt(pairs)
            return
        after = self._trials.findings(self._around, {self._location: fixed_state.document.data})
        filename = pairs[0][0].finding.filename
        shifts = {filename: fixed_state.shifts}
        stays = staying((candidate.finding for candidate, _ in pairs), after, shifts)
        for candidate, fix in pairs:
            if candidate.finding in stays:
                candidate.refusals.append(Refusal(fix, Reason.STAYS))
        gone = [pair for pair in pairs if pair[0].finding not in stays]
        new = [*come(self._proposals.findings(self._around), after, shifts)]
        if not new and gone:
            self._follow(gone, fixed_state)
        elif new:
            self._blame(gone, fixed_state, [one for one in new if one.filename == filename])

    def _blame(self, pairs: Sequence[Pair], fixed_state: State, brought: Sequence[Finding]) -> None:
        """Refuse the fixes that are the only ones near a new finding, and try the others again."""
        shift = fixed_state.shifts[-1]
        near = [[one for one in brought if _is_near(pair, shift, one)] for pair in pairs]
        counts = Counter(one for findings in near for one in findings)
        for (candidate, fix), findings in zip(pairs, near, strict=True):
            is_certain = all(
                counts[one] == 1 and not self._may_be_mended(one, fixed_state) for one in findings
            )
            if findings and is_certain:
                candidate.refusals.append(Refusal(fix, Reason.BRINGS, tuple(findings)))
            elif findings:
                candidate.doubtful = True
        self._retry(pairs, [bool(findings) for findings in near])

    def _may_be_mended(self, finding: Finding, fixed_state: State) -> bool:
        """Whether there is a fix of a finding that another fix has brought."""
        site = self._proposals.site(fixed_state.document)
        return any(
            next(iter(fixer.fixes(finding, site)), None) is not None
            for fixer in fixers().get(finding.code, ())
            if not fixer.searches
        )

    def _follow(self, pairs: Sequence[Pair], fixed_state: State) -> None:
        """Accept fixes without new findings, if the analysis knows as much as before."""
        if not self._trials.may_record:
            _doubt(pairs)
            return
        lost = self._proposals.lost_stretches(self._state.document, fixed_state)
        if not lost:
            for candidate, fix in pairs:
                candidate.holding.append(fix)
            return
        lines = {line for start, end in lost for line in range(start[0], end[0] + 1)}
        near = [not lines.isdisjoint(_own_lines(pair)) for pair in pairs]
        _doubt([pair for pair, is_near in zip(pairs, near, strict=True) if is_near])
        self._retry(pairs, near)

    def _retry(self, pairs: Sequence[Pair], near: Sequence[bool]) -> None:
        """Try again the fixes that are not near a trouble; in two halves where none is."""
        others = [pair for pair, is_near in zip(pairs, near, strict=True) if not is_near]
        if len(others) < len(pairs):
            self._try(others)
        elif len(pairs) < 2:
            _doubt(pairs)
        else:
            self._try(pairs[: len(pairs) // 2])
            self._try(pairs[len(pairs) // 2 :])


def _doubt(pairs: Sequence[Pair]) -> None:
    for candidate, _ in pairs:
        candidate.doubtful = True


def _compatible(pairs: Sequence[Pair]) -> list[Pair]:
    """The fixes without those that overlap earlier ones, which become doubtful."""
    compatible: list[Pair] = []
    taken: dict[Edit, None] = {}
    occupied: list[tuple[Point, Point]] = []
    for candidate, fix in pairs:
        fresh = [edit for edit in fix.edits if edit not in taken]
        if any(_overlaps(edit.span, occupied) for edit in fresh):
            candidate.doubtful = True
            continue
        compatible.append((candidate, fix))
        for edit in fresh:
            taken[edit] = None
            insort(occupied, (edit.span.start, edit.span.end))
    return compatible


def _overlaps(span: Span, occupied: Sequence[tuple[Point, Point]]) -> bool:
    """Whether a stretch overlaps one of some that do not overlap each other, in order."""
    index = bisect_right(occupied, (span.start, span.end))
    before, after = occupied[max(index - 1, 0) : index], occupied[index : index + 1]
    return any(end > span.start for _, end in before) or any(span.end > start for start, _ in after)


def _own_lines(trial: Pair) -> set[int]:
    candidate, fix = trial
    spans = (candidate.finding.span, *(edit.span for edit in fix.edits))
    return {line for span in spans for line in _lines(span)}


def _is_near(trial: Pair, shift: Shift, finding: Finding) -> bool:
    """Whether a fix, or its finding, is in a line of a finding in the changed file."""
    candidate, fix = trial
    for span in (candidate.finding.span, *(edit.span for edit in fix.edits)):
        lines = [line for line, _ in shift.points((span.start, span.end))]
        if min(lines) <= finding.span.end_line and finding.span.line <= max(lines):
            return True
    return False


def _lines(span: Span) -> range:
    return range(span.line, span.end_line + 1)
