"""Runs the analysis of ``namecheck check`` on the files that mypy checks.

The analysis of one file may give a finding in another one. So all files are checked together,
before mypy asks whether its cached result for any of them is still valid.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from namecheck import project
from namecheck.core import syntax
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Finding, Kind, register
from namecheck.project import Entry, settings
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import Settings, SettingsError
from namecheck.project.walk import entry_of
from namecheck_mypy.asked import asks, names_asked
from namecheck_mypy.diagnostics import Diagnostic, Diagnostics
from namecheck_mypy.whole_files import is_left_out

__all__ = ["Checked", "SettingsError", "check"]


@dataclass(frozen=True)
class Checked:
    """The diagnostics of all files, and what they depend on.

    `files` were read or looked for, `folders` were searched.
    """

    diagnostics: Diagnostics = field(default_factory=dict)
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def check(paths: Sequence[str], overlay: Mapping[str, bytes], cache_folder: str | None) -> Checked:
    """Check files and all files of the project that they import.

    `overlay` has the contents of files, by absolute path, that differ from those on the disk.
    Raises `SettingsError`.
    """
    files = ProjectFiles(overlay)
    nearest = NearestSettings()
    entries = [
        entry
        for path in closure(paths, files)
        if (entry := nearest.entry(path, overlay)) is not None
    ]
    diagnostics: Diagnostics = {}
    if any(_is_relevant(entry, files) for entry in entries):
        diagnostics = _diagnostics(entries, files, overlay, cache_folder)
    used = dict.fromkeys(entry.location for entry in entries)
    return Checked(diagnostics, (*used, *nearest.consulted), tuple(_searched(used)))


def _searched(locations: Iterable[str]) -> Iterable[str]:
    """The folders of files, and their parents below the folder that mypy runs in."""
    here = os.getcwd()
    folders: dict[str, None] = {here: None}
    for location in locations:
        folder = os.path.dirname(location)
        while folder not in folders:
            folders[folder] = None
            if folder.startswith(os.path.join(here, "")):
                folder = os.path.dirname(folder)
    return folders


def _is_relevant(entry: Entry, files: ProjectFiles) -> bool:
    """Whether a file, or what it calls, may have findings."""
    data = files.read(entry.location)
    if data is None:
        return False
    if entry.settings.checks_all and syntax.imports_torch(data):
        return True
    return entry.settings.names_dims(data) or b"namecheck:" in data


def _diagnostics(
    entries: Sequence[Entry],
    files: ProjectFiles,
    overlay: Mapping[str, bytes],
    folder: str | None,
) -> Diagnostics:
    from namecheck.project.cache import Cache  # it imports sqlite, which is not always needed

    cache = Cache(folder) if folder and not overlay else None
    result = project.check(entries, cache=cache, overlay=overlay)
    locations = {entry.path: entry.location for entry in entries}
    diagnostics: Diagnostics = {}
    for finding in _new(result.findings, entries, overlay):
        location = locations.get(finding.filename)
        if location is not None:
            diagnostics.setdefault(location, []).append(_diagnostic(finding))
    for entry in entries:
        data = files.read(entry.location)
        if data is None:
            continue
        if asks(data):
            diagnostics.setdefault(entry.location, []).extend(names_asked(data, entry, overlay))
        if entry.location in diagnostics and is_left_out(data):
            del diagnostics[entry.location]
    return diagnostics


def _new(
    findings: Sequence[Finding], entries: Sequence[Entry], overlay: Mapping[str, bytes]
) -> Sequence[Finding]:
    """The findings that no baseline has; raises `SettingsError` for one that cannot be read."""
    if all(entry.settings.baseline is None for entry in entries):
        return findings
    from namecheck.project import baseline
    from namecheck.project.roots import Roots
    from namecheck.report.listing import reader

    contents = {one.path: overlay[one.location] for one in entries if one.location in overlay}
    return baseline.compared(findings, Roots(entries), reader(contents)).findings


def closure(paths: Sequence[str], files: ProjectFiles) -> list[str]:
    """The paths, and those of all files of the project that are imported from them."""
    shown = {os.path.abspath(path): os.path.normpath(path) for path in paths}
    here = os.path.join(os.getcwd(), "")
    open_ = list(shown)
    while open_:
        location = open_.pop()
        data = files.read(location)
        for imported in files.imported(location, data) if data else ():
            if imported.endswith(".py") and imported not in shown:
                shown[imported] = imported.removeprefix(here)
                open_.append(imported)
    return list(shown.values())


class NearestSettings:
    """The settings of files: those of the nearest pyproject.toml with a table of namecheck."""

    def __init__(self) -> None:
        self._by_folder: dict[str, Settings] = {}
        self.consulted: dict[str, None] = {}

    def entry(self, path: str, overlay: Mapping[str, bytes]) -> Entry | None:
        """The entry of a file, None if the settings exclude it."""
        nearest = self._of(os.path.dirname(path) or ".")
        location = os.path.abspath(path)
        if location in overlay:
            return Entry(path, location, nearest, len(overlay[location]))
        if not nearest.takes(path) or project.is_excluded(location, nearest):
            return None
        return entry_of(path, location, nearest) if os.path.exists(path) else None

    def _of(self, folder: str) -> Settings:
        if folder not in self._by_folder:
            self._by_folder[folder] = settings.above(folder)
            self.consulted.update(dict.fromkeys(settings.places(folder)))
            nearest = self._by_folder[folder]
            for file in (*nearest.extend_operators, nearest.baseline):
                if file is not None:
                    self.consulted[os.path.abspath(file)] = None
        return self._by_folder[folder]


def _diagnostic(finding: Finding) -> Diagnostic:
    note = register()[finding.code].kind is Kind.NOTE or finding.code == "NC005"
    span = finding.span
    return Diagnostic(
        finding.code,
        "note" if note else "error",
        finding.message,
        span.line,
        span.column,
        span.end_line,
        span.end_column,
        () if note else tuple(_hints(finding)),
    )


def _hints(finding: Finding) -> Iterable[str]:
    for place in finding.related:
        yield f"{place.filename}:{place.span.line}: {place.message}"
    rule = f"namecheck rule {finding.code}, {register()[finding.code].name}"
    yield f"{finding.help} ({rule})" if finding.help else rule
