"""The files that matter: those that name dimensions, and those that import such files."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from namecheck.core import syntax
from namecheck.core.dataclasses import dataclass
from namecheck.project.files import ProjectFiles


@dataclass(frozen=True, slots=True)
class Scan:
    """A file scanned without parsing: whether it names dimensions, and which files it imports."""

    names: bool = False
    imported: frozenset[str] = frozenset()


def scan(
    location: str,
    data: bytes | None,
    files: ProjectFiles,
    names_dims: Callable[[bytes], bool] = syntax.names_something,
) -> Scan:
    """Scan a file for names of dimensions and imports, before it is parsed."""
    if data is None:
        return Scan()
    return Scan(names_dims(data), files.imported(location, data))


def leading(scans: dict[str, Scan], files: ProjectFiles) -> set[str]:
    """The files that name dimensions or import such files, over any number of files.

    `scans` has the files that are checked; those that they import are read.
    """
    importers = _importers(scans, files)
    return _reached((location for location, one in scans.items() if one.names), importers)


def depending(locations: Iterable[str], seeds: Iterable[str], files: ProjectFiles) -> set[str]:
    """The files `seeds`, and the files that import one of them, over any number of files."""
    scans = {location: scan(location, files.read(location), files) for location in locations}
    return _reached(seeds, _importers(scans, files))


def _importers(scans: dict[str, Scan], files: ProjectFiles) -> dict[str, list[str]]:
    """For each file its importers; files without a scan are read and scanned."""
    importers: dict[str, list[str]] = {}
    pending: list[str] = [*scans]
    while pending:
        location = pending.pop()
        for imported in scans[location].imported:
            importers.setdefault(imported, []).append(location)
            if imported not in scans:
                scans[imported] = scan(imported, files.read(imported), files)
                pending.append(imported)
    return importers


def _reached(seeds: Iterable[str], importers: dict[str, list[str]]) -> set[str]:
    reached: set[str] = set()
    pending = [*seeds]
    while pending:
        location = pending.pop()
        if location not in reached:
            reached.add(location)
            pending += importers.get(location, ())
    return reached
