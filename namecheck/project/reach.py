"""Which files can matter: those that name dimensions, and those that import from such."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from namecheck.core import syntax
from namecheck.project.files import ProjectFiles


@dataclass(frozen=True, slots=True)
class Words:
    """What the words of a file tell: whether it names dimensions, and which files it imports."""

    names: bool = False
    imported: frozenset[str] = frozenset()


def words_of(location: str, data: bytes | None, files: ProjectFiles) -> Words:
    """What a file tells before it is parsed."""
    if data is None:
        return Words()
    return Words(syntax.names_something(data), files.imported(location, data))


def leading(told: dict[str, Words], files: ProjectFiles) -> set[str]:
    """The files that name dimensions or import, over any number of files, from such.

    `told` has the files that are checked; those that they import are read.
    """
    importers = _importers(told, files)
    return _reached((location for location, words in told.items() if words.names), importers)


def depending(locations: Iterable[str], changed: Iterable[str], files: ProjectFiles) -> set[str]:
    """The changed files, and those that import, over any number of files, from one of them."""
    told = {location: words_of(location, files.read(location), files) for location in locations}
    return _reached(changed, _importers(told, files))


def _importers(told: dict[str, Words], files: ProjectFiles) -> dict[str, list[str]]:
    """For each file those that import it; what is not told of yet is read."""
    importers: dict[str, list[str]] = {}
    open_: list[str] = [*told]
    while open_:
        location = open_.pop()
        for imported in told[location].imported:
            importers.setdefault(imported, []).append(location)
            if imported not in told:
                told[imported] = words_of(imported, files.read(imported), files)
                open_.append(imported)
    return importers


def _reached(start: Iterable[str], importers: dict[str, list[str]]) -> set[str]:
    reached: set[str] = set()
    open_ = [*start]
    while open_:
        location = open_.pop()
        if location not in reached:
            reached.add(location)
            open_ += importers.get(location, ())
    return reached
