"""The findings of the files that mypy checks: the engine of ``namecheck check``, run over them.

A finding may stand in another file than the one whose analysis leads to it, so all files are
checked together, and before mypy asks whether what it remembers of any of them still holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from namecheck import project
from namecheck.core import syntax
from namecheck.core.findings import Finding, Kind, register
from namecheck.project import Entry, settings
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import Settings, SettingsError
from namecheck.project.stamps import stamp_of
from namecheck_mypy.asked import asks, names_asked
from namecheck_mypy.diagnostics import Diagnostic, Found
from namecheck_mypy.whole_files import is_left_out

__all__ = ["Checked", "SettingsError", "check"]


@dataclass(frozen=True)
class Checked:
    """What was found, by the absolute paths of files, and all that it depends on.

    `files` were read, or looked for; `folders` were searched.
    """

    told: Found = field(default_factory=dict)
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def check(paths: Sequence[str], overlay: Mapping[str, bytes], cache_folder: str | None) -> Checked:
    """Check files and all of the project that they import.

    `overlay` has the contents of files, by absolute path, that are not those on the disk. Raises
    `SettingsError`.
    """
    files = ProjectFiles(overlay)
    found = Nearest()
    entries = [
        entry for path in closure(paths, files) if (entry := found.entry(path, overlay)) is not None
    ]
    told: Found = {}
    if any(_matters(entry, files) for entry in entries):
        told = _told(entries, files, overlay, cache_folder)
    used = dict.fromkeys(entry.location for entry in entries)
    return Checked(told, (*used, *found.consulted), tuple(_searched(used)))


def _searched(locations: Iterable[str]) -> Iterable[str]:
    """The folders of files, and those above them in the folder that mypy runs in."""
    here = os.getcwd()
    folders: dict[str, None] = {here: None}
    for location in locations:
        folder = os.path.dirname(location)
        while folder not in folders:
            folders[folder] = None
            if folder.startswith(os.path.join(here, "")):
                folder = os.path.dirname(folder)
    return folders


def _matters(entry: Entry, files: ProjectFiles) -> bool:
    """Whether there may be something to tell of a file, or of what it calls."""
    data = files.read(entry.location)
    if data is None:
        return False
    if entry.settings.checks_all and syntax.imports_torch(data):
        return True
    return syntax.names_something(data) or b"namecheck:" in data


def _told(
    entries: Sequence[Entry],
    files: ProjectFiles,
    overlay: Mapping[str, bytes],
    folder: str | None,
) -> Found:
    from namecheck.project.cache import Cache  # with sqlite, which is not always needed

    cache = Cache(folder) if folder and not overlay else None
    result = project.check(entries, cache=cache, overlay=overlay)
    locations = {entry.path: entry.location for entry in entries}
    told: Found = {}
    for finding in result.findings:
        location = locations.get(finding.filename)
        if location is not None:
            told.setdefault(location, []).append(_diagnostic(finding))
    for entry in entries:
        data = files.read(entry.location)
        if data is None:
            continue
        if asks(data):
            told.setdefault(entry.location, []).extend(names_asked(data, entry, overlay))
        if entry.location in told and is_left_out(data):
            del told[entry.location]
    return told


def closure(paths: Iterable[str], files: ProjectFiles) -> list[str]:
    """The paths, and those of all files of the project that are imported from there."""
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


class Nearest:
    """The settings that hold for files: those of the nearest pyproject.toml that has some."""

    def __init__(self) -> None:
        self._found: dict[str, Settings] = {}
        self.consulted: dict[str, None] = {}

    def entry(self, path: str, overlay: Mapping[str, bytes]) -> Entry | None:
        """The file as it is to be checked; None where the settings leave it out."""
        found = self._of(os.path.dirname(path) or ".")
        location = os.path.abspath(path)
        if location in overlay:
            return Entry(path, location, found, len(overlay[location]))
        if not found.takes(path) or project.is_excluded(location, found):
            return None
        try:
            status = os.stat(path)
        except OSError:
            return None
        return Entry(path, location, found, status.st_size, stamp=stamp_of(status))

    def _of(self, folder: str) -> Settings:
        if folder not in self._found:
            self._found[folder] = settings.above(folder)
            self.consulted.update(dict.fromkeys(settings.places(folder)))
            for table in self._found[folder].extend_operators:
                self.consulted[os.path.abspath(table)] = None
        return self._found[folder]


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
