"""Merges the outcomes of all files: each finding once, unless a comment suppresses it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

from namecheck.core import regular_files, syntax
from namecheck.core.findings import Finding, Kind, register
from namecheck.core.syntax import Refused
from namecheck.project.settings import Settings
from namecheck.project.suppression import Comments, suppress
from namecheck.project.tasks import Entry, Outcome

if TYPE_CHECKING:
    from namecheck.interpreter.workspace.statistics import Statistics


_Candidate: TypeAlias = tuple[str, Finding]
"""A finding with the file whose analysis found it."""


class Gathering:
    """The outcomes of a run, by the files that contain the findings."""

    def __init__(self, entries: Sequence[Entry], outcomes: Sequence[Outcome]) -> None:
        self._paths = {entry.location: entry.path for entry in entries}
        self._settings = {entry.location: entry.settings for entry in entries}
        self._comments = {
            entry.location: outcome.comments
            for entry, outcome in zip(entries, outcomes, strict=True)
        }
        self._by_file: dict[str, list[_Candidate]] = {loc: [] for loc in self._paths}
        self._statistics = [o.statistics for o in outcomes if o.statistics is not None]
        strangers: dict[str, list[_Candidate]] = {}
        for entry, outcome in zip(entries, outcomes, strict=True):
            for finding in outcome.findings:
                place = finding.filename
                if place in self._by_file:
                    self._by_file[place].append((entry.location, finding))
                elif not is_excluded(place, entry.settings):
                    strangers.setdefault(place, []).append((entry.location, finding))
                    self._settings.setdefault(place, entry.settings)
        self._by_file.update(sorted(strangers.items()))

    def findings(self, analysed: Collection[str] | None = None) -> Iterator[Finding]:
        """The findings to report, file by file; only those from the analysis of some files."""
        for location, candidates in self._by_file.items():
            comments = self._comments_of(location)
            if not candidates and (comments is None or not comments.suppressions):
                continue
            settings = self._settings[location]
            selected = settings.selected_in(self._shown(location))
            origins = {
                finding: origin for origin, finding in _once(candidates) if finding.code in selected
            }
            findings = [*origins]
            if comments is not None and comments.suppressions:
                findings = suppress(comments, findings, selected)
            # Findings about the comments of a file come from its own analysis.
            own = location if location in self._paths else candidates[0][0]
            for finding in sorted(findings, key=lambda finding: (finding.span, finding.code)):
                if settings.holds_back(finding):
                    continue
                if analysed is None or origins.get(finding, own) in analysed:
                    yield finding.relocated(self._shown)

    def shared(self) -> set[str]:
        """The files whose findings depend on the analyses of further files.

        These are the files with findings of other files, and those with unused suppressions so far.
        """
        files = {
            location
            for location, candidates in self._by_file.items()
            if any(origin != location for origin, _ in candidates)
        }
        for location, comments in self._comments.items():
            if comments is not None and comments.suppressions and location not in files:
                selected = self._settings[location].selected_in(self._shown(location))
                findings = [finding for _, finding in _once(self._by_file[location])]
                if any(one.code == "NC010" for one in suppress(comments, findings, selected)):
                    files.add(location)
        return files

    def _comments_of(self, location: str) -> Comments | None:
        if location in self._comments:
            return self._comments[location]
        return _comments_in(location)

    def statistics(self) -> Statistics:
        """The tensor expressions of all files."""
        from namecheck.interpreter.workspace.statistics import Statistics

        statistics = reduce(Statistics.joined, self._statistics, Statistics())
        return statistics.relocated(self._shown)

    def _shown(self, location: str) -> str:
        """The path as the user typed it; for other files relative to the working folder."""
        path = self._paths.get(location)
        if path is None:
            here = os.path.join(os.getcwd(), "")
            path = location.removeprefix(here)
        return path


def _once(candidates: Iterable[_Candidate]) -> Iterator[_Candidate]:
    """Each finding once: from the check of its own file, else by the shortest chain of calls."""
    best: dict[object, _Candidate] = {}
    for candidate in sorted(candidates, key=_way):
        finding = candidate[1]
        note = register()[finding.code].kind is Kind.NOTE
        best.setdefault((finding.span, finding.code, note and finding.message), candidate)
    yield from best.values()


def _way(candidate: _Candidate) -> tuple[object, ...]:
    origin, finding = candidate
    places = tuple((place.filename, place.span) for place in finding.related)
    return origin != finding.filename, len(places), places, finding.message, origin


def is_excluded(location: str, settings: Settings) -> bool:
    """Whether the settings exclude a file, or a folder that contains it."""
    root = os.path.abspath(settings.root)
    path = location
    while path.startswith(os.path.join(root, "")):
        if settings.excludes(path):
            return True
        path = os.path.dirname(path)
    return False


def _comments_in(location: str) -> Comments | None:
    try:
        data = regular_files.contents(location)
        return Comments.of(syntax.parse(data, location)) if b"namecheck:" in data else None
    except (OSError, Refused):
        return None
