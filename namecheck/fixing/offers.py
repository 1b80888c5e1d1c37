"""The fixes that are shown with findings; fixes in the cache are not tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Finding, Fix
from namecheck.project import Entry
from namecheck.project.files import NOTHING, Reads
from namecheck.project.records import digest_of

if TYPE_CHECKING:
    from namecheck.fixing.proposals import Attempt
    from namecheck.project.cache import Cache

# How many steps may be spent on one finding before its fix is given up: some ten seconds.
PATIENCE: Final = 4_000_000

NO_STEPS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True)
class Offer:
    """The fixes that hold for the findings of a run; `untried` findings exceeded the budget."""

    fixes: Mapping[Finding, Fix]
    untried: frozenset[Finding]


def offer(
    entries: Sequence[Entry],
    findings: Sequence[Finding],
    limit: int,
    overlay: Mapping[str, bytes] = NOTHING,
    cache: Cache | None = None,
) -> Offer:
    """The fixes of findings in these files; no new one is tried after `limit` steps.

    `overlay` has contents of files, by location, in place of those on the disk; the `cache`, which
    must not be used with it, has earlier trials.
    """
    records = _Kept(entries, cache, min(limit, PATIENCE))
    untried = [finding for finding in findings if not records.knows(finding)]
    if untried:
        _try(records, untried, limit, overlay)
        records.save()
    fixes = [(finding, records.fix(finding)) for finding in findings]
    offered = {finding: fix for finding, fix in fixes if isinstance(fix, Fix)}
    return Offer(offered, frozenset(finding for finding, fix in fixes if isinstance(fix, int)))


def explain(
    entries: Sequence[Entry],
    findings: Sequence[Finding],
    overlay: Mapping[str, bytes] = NOTHING,
    costs: Mapping[str, int] = NO_STEPS,
) -> dict[Finding, Attempt]:
    """The results of trying the fixes of all findings; none comes from a cache.

    `overlay` has contents of files, by location, in place of those on the disk; `costs` are the
    steps that their checks took.
    """
    from namecheck.fixing.proposals import Proposals
    from namecheck.fixing.trials import LIMIT, Trials, is_note

    trials = Trials(entries, costs)
    trials.overlay.update(overlay)
    proposals = Proposals(trials, PATIENCE)
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if not is_note(finding):
            by_file.setdefault(finding.filename, []).append(finding)
    attempts: dict[Finding, Attempt] = {}
    for filename, of_file in by_file.items():
        with trials.limited(trials.location(filename) or filename, LIMIT):
            attempts |= proposals.attempts(of_file)
    return attempts


class _Kept:
    """The outcomes of trials, those of the cache among them, by the files of the findings.

    An outcome is the fix; None where none holds; or the number of steps that were spent in vain.
    """

    def __init__(self, entries: Sequence[Entry], cache: Cache | None, patience: int) -> None:
        self.entries = entries
        self.patience = patience
        self._cache = cache
        self._locations = {entry.path: entry.location for entry in entries}
        self._known: dict[str, tuple[dict[str, Fix | int | None], Reads]] = {}
        self._fresh: set[str] = set()

    def _of(self, location: str) -> tuple[dict[str, Fix | int | None], Reads]:
        if location not in self._known:
            fixes, reads = {}, Reads()
            if self._cache is not None:
                cached, reads = self._cache.fixes(self.entries, location)
                fixes = dict(cached)
            self._known[location] = fixes, reads
        return self._known[location]

    def location(self, finding: Finding) -> str:
        """The file of a finding that may need a trial."""
        return self._locations[finding.filename]

    def knows(self, finding: Finding) -> bool:
        """Whether a finding needs no trial: its outcome is final, or its file was not requested."""
        location = self._locations.get(finding.filename)
        if location is None:
            return True
        fixes, key = self._of(location)[0], digest_of(finding)
        fix = fixes.get(key)
        return key in fixes and not (isinstance(fix, int) and fix < self.patience)

    def fix(self, finding: Finding) -> Fix | int | None:
        """The outcome for a finding; a number where it is unknown whether a fix holds."""
        location = self._locations.get(finding.filename)
        return None if location is None else self._of(location)[0].get(digest_of(finding), 0)

    def learn(self, finding: Finding, fix: Fix | int | None, reads: Reads) -> None:
        """Store the outcome of a trial, and the files that were read for it."""
        location = self.location(finding)
        fixes, checked = self._of(location)
        fixes[digest_of(finding)] = fix
        checked.join(reads)
        self._fresh.add(location)

    def save(self) -> None:
        """Write the new outcomes to the cache."""
        if self._cache is not None and self._fresh:
            made = {location: self._known[location] for location in sorted(self._fresh)}
            self._cache.put_fixes(self.entries, made)


def _try(
    records: _Kept, findings: Sequence[Finding], limit: int, overlay: Mapping[str, bytes]
) -> None:
    """Try the fixes of findings, until so many steps were spent."""
    from namecheck.fixing.proposals import ALONE, Proposals
    from namecheck.fixing.registry import fixers
    from namecheck.fixing.trials import Trials

    trials = Trials(records.entries)
    trials.overlay.update(overlay)
    proposals = Proposals(trials, records.patience)

    def tried(finding: Finding) -> Fix | int | None:
        attempt = proposals.attempt(finding)
        return records.patience if attempt.given_up else attempt.fix

    def learn_together(location: str, later_findings: Sequence[Finding]) -> None:
        with trials.limited(location, limit - trials.spent):
            attempts, reads = trials.noted(lambda: proposals.together(later_findings))
        for finding, attempt in attempts.items():
            records.learn(finding, attempt.fix, reads)

    fixable: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.code in fixers():
            fixable.setdefault(finding.filename, []).append(finding)
        else:
            records.learn(finding, None, Reads())
    for of_file in fixable.values():
        begun, is_together = trials.spent, False
        for index, finding in enumerate(of_file):
            if trials.spent > limit:
                return
            if trials.spent - begun > ALONE and not is_together:
                is_together = True
                learn_together(records.location(finding), of_file[index:])
            if not records.knows(finding) and trials.spent <= limit:
                records.learn(finding, *trials.noted(lambda: tried(finding)))  # noqa: B023
