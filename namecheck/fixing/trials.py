"""Trials: checks files as they would be after a change.

A change holds if the findings that it is for are gone and there is no new one. Notes do not count.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, islice
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from namecheck import project
from namecheck.core.findings import Edit, Finding, Kind, Point, register
from namecheck.editing.documents import Document
from namecheck.editing.edits import ordered
from namecheck.project import Entry
from namecheck.project.files import ProjectFiles, Reads
from namecheck.project.reach import depending

NO_COSTS: Final[Mapping[str, int]] = MappingProxyType({})
"""It is not known what checks have cost."""

Work = TypeVar("Work")
# What it costs to record the values of all expressions, in checks of the same file.
_RECORDED: Final = 1

LIMIT: Final = 1_600_000
"""How many steps may be spent on the fixes of one file, and no fix is tried after that."""


class Trials:
    """Checks files of a run with their contents in `overlay`, or with changed contents.

    `spent` is the number of steps that the checks took, `reads` the files that were read for them.
    The `costs` are steps that checks of single files took before, where that is known.
    """

    def __init__(self, entries: Sequence[Entry], costs: Mapping[str, int] = NO_COSTS) -> None:
        self._costs = dict(costs)
        self._end: float = math.inf
        self._left: dict[tuple[str, int], int] = {}
        self._entries = {entry.location: entry for entry in entries}
        self._locations = {entry.path: entry.location for entry in entries}
        self.overlay: dict[str, bytes] = {}
        self.spent = self._last = 0
        self.reads = Reads()
        self._imported: tuple[frozenset[str], Reads] | None = None

    @contextmanager
    def limited(self, location: str, limit: int) -> Iterator[None]:
        """Limit the steps that the trials in all such blocks of one file may take together."""
        begun, outer, purse = self.spent, self._end, (location, limit)
        self._end = min(begun + self._left.setdefault(purse, limit), outer)
        self._last = self._costs.get(location, 0)
        try:
            yield
        finally:
            self._left[purse] -= self.spent - begun
            self._costs[location] = self._last
            self._end = outer

    @property
    def may_check(self) -> bool:
        """Whether one more check of the same files does not exceed the limit."""
        return self.spent + self._last <= self._end

    @property
    def may_begin(self) -> bool:
        """Whether checks of the same files before and after a fix do not exceed the limit."""
        return self.spent + 2 * self._last <= self._end

    @property
    def may_record(self) -> bool:
        """Whether an analysis that records the value of each expression does not exceed it."""
        return self.spent + _RECORDED * self._last <= self._end

    def entry(self, location: str) -> Entry:
        """A requested file."""
        return self._entries[location]

    def location(self, filename: str) -> str | None:
        """The file of a finding, None for one that was not requested."""
        return self._locations.get(filename)

    @property
    def everywhere(self) -> frozenset[str]:
        """All requested files."""
        return frozenset(self._entries)

    def depending(self, changed: Collection[str]) -> frozenset[str]:
        """The requested files whose findings may depend on some files."""
        return self.everywhere & depending(self.everywhere, changed, self.files())

    def noted(self, work: Callable[[], Work]) -> tuple[Work, Reads]:
        """The result of a function, and the files that were read for it."""
        outer, self.reads = self.reads, Reads()
        try:
            return work(), self.reads
        finally:
            self.reads = outer

    def files(self) -> ProjectFiles:
        """The files of the project, with their contents in the trial."""
        return ProjectFiles(self.overlay, self.reads)

    def imported(self) -> frozenset[str]:
        """The files that some requested file imports, in their original state."""
        if self._imported is None:
            self._imported = self.noted(self._all_imported)
        locations, reads = self._imported
        self.reads.join(reads)
        return locations

    def _all_imported(self) -> frozenset[str]:
        files = self.files()
        contents = ((location, files.read(location) or b"") for location in self.everywhere)
        return frozenset().union(*(files.imported(*content) for content in contents))

    def around(self, finding: Finding) -> frozenset[str]:
        """The files of a finding: its own, and those of the calls that lead there."""
        names = (finding.filename, *(place.filename for place in finding.related))
        return frozenset(self._locations[name] for name in names if name in self._locations)

    def findings(
        self, locations: Collection[str], changed: Mapping[str, bytes]
    ) -> tuple[Finding, ...]:
        """The findings in these files, except notes, with the contents of some changed."""
        overlay = {**self.overlay, **changed}
        entries = [
            _resized(entry, overlay)
            for location, entry in self._entries.items()
            if location in locations
        ]
        result = project.check(entries, jobs=1, overlay=overlay, reads=self.reads)
        self._last = max(result.steps, 1)
        self.spent += self._last
        return tuple(finding for finding in result.findings if not is_note(finding))

    def count_record(self) -> None:
        """Count an analysis of the files checked last that records the value of each expression."""
        self.spent += _RECORDED * self._last

    def count_comparison(self, count: int) -> None:
        """Count a comparison of what is known at so many places."""
        self.spent += count


def _resized(entry: Entry, overlay: Mapping[str, bytes]) -> Entry:
    data = overlay.get(entry.location)
    return entry if data is None else entry._replace(size=len(data), stamp="", refusal=None)


def is_note(finding: Finding) -> bool:
    """Whether a finding is no fault."""
    return register()[finding.code].kind is Kind.NOTE


class Shift:
    """The positions of a text after some edits.

    A position at which text is inserted may be before it or after it.
    """

    def __init__(self, before: Document, edits: Sequence[Edit], after: Document) -> None:
        self._starts = _line_starts(before.text)
        self._ends = _line_starts(after.text)
        self._edits = [
            (
                self._offset(span.line, span.column),
                self._offset(span.end_line, span.end_column),
                len(edit.text),
            )
            for edit in ordered(edits)
            for span in [edit.span]
        ]
        self._lasts = [last for _, last, _ in self._edits]
        grown = (length - (last - first) for first, last, length in self._edits)
        self._grown = [0, *accumulate(grown)]

    def points(self, points: Iterable[Point]) -> frozenset[Point]:
        """The lines and columns to which these start positions may have moved."""
        return frozenset(
            self._point(moved)
            for line, column in points
            for moved in self._moved(self._offset(line, column))
        )

    def _moved(self, offset: int) -> tuple[int, int]:
        place = bisect_left(self._lasts, offset)
        before = behind = offset + self._grown[place]
        for first, last, length in islice(self._edits, place, None):
            if first >= offset and last != offset:
                break
            grown = length - (last - first)
            if first == last:
                behind += grown
            elif last == offset:
                before, behind = before + grown, behind + grown
            else:
                before, behind = before - (offset - first), behind - (offset - first)
        return before, behind

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column - 1

    def _point(self, offset: int) -> Point:
        line = bisect_right(self._ends, offset)
        return line, offset - self._ends[line - 1] + 1


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in text.split("\n"))]


Shifts: TypeAlias = Mapping[str, Sequence[Shift]]


def come(earlier: Iterable[Finding], after: Iterable[Finding], shifts: Shifts) -> Iterator[Finding]:
    """The new findings; `shifts` are those of the files that changed."""
    earlier_keys = Counter(key for finding in earlier for key in _keys(finding, shifts))
    for finding in after:
        if not earlier_keys[_key(finding)]:
            yield finding


def stays(finding: Finding, after: Iterable[Finding], shifts: Shifts) -> bool:
    """Whether a finding is still present."""
    keys = _keys(finding, shifts)
    return any(_key(other) in keys for other in after)


def staying(
    findings: Iterable[Finding], after: Iterable[Finding], shifts: Shifts
) -> frozenset[Finding]:
    """Those of many findings that are still present."""
    present = {_key(other) for other in after}
    return frozenset(one for one in findings if not present.isdisjoint(_keys(one, shifts)))


def _key(finding: Finding) -> object:
    return _keyed(finding, (finding.span.line, finding.span.column))


def _keyed(finding: Finding, point: Point) -> object:
    words = finding.facts.words if finding.facts else ()
    return finding.filename, finding.code, words, point


def _keys(finding: Finding, shifts: Shifts) -> set[object]:
    points = frozenset({(finding.span.line, finding.span.column)})
    for shift in shifts.get(finding.filename, ()):
        points = shift.points(points)
    return {_keyed(finding, point) for point in points}
