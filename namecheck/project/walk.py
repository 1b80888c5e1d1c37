"""The files under some paths: no link leads a walk out of the project.

The project of a walk is the nearest folder, from its path upward, that has a mark of a root; else
the working folder, if the path is in it; else the path. A path that is named may be a link to
anywhere: its files are in the project of its target.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from namecheck.core.regular_files import is_inside, real_path, reason_of, require
from namecheck.core.stamps import stamp_of
from namecheck.project import settings as configuration
from namecheck.project.files import ROOT_MARKS
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry


class Walk:
    """The files under some paths, each with the settings of its nearest pyproject.toml.

    `adjust` overrides the settings of a file by the command line's options. Raises `SettingsError`.
    Paths that do not exist are collected in `missing`, links out of the project in `outward`.
    """

    def __init__(self, adjust: Callable[[Settings], Settings] = lambda settings: settings) -> None:
        self._adjust = adjust
        self._directories: set[tuple[int, int]] = set()
        self._files: set[str] = set()
        self._linked: list[tuple[str, str, Settings]] = []
        self._project = ""
        self.missing: list[str] = []
        self.outward: list[str] = []

    def entries(self, paths: Sequence[str]) -> list[Entry]:
        """The files to check, in the order of a walk from the root, whatever the order of paths.

        Files that are paths themselves keep the spelling of the path, the shortest of several.
        """
        entries: list[Entry] = []
        ordered = len(paths) < 2
        for path in paths if ordered else sorted(set(paths), key=_precedence):
            self._path(path, entries)
            # A folder that is linked and in the tree as well has its own name.
            while self._linked:
                ordered = False
                self._directory(*self._linked.pop(0), entries, linked=True)
        if not ordered:
            entries.sort(key=lambda entry: entry.location.split(os.sep))
        return entries

    def _path(self, path: str, entries: list[Entry]) -> None:
        whole = os.path.abspath(path)
        if not os.path.lexists(path) and os.path.lexists(whole):
            path = whole  # the working folder cannot be searched
        if os.path.isdir(path):
            self._project = ""
            self._directory(path, whole, self._adjust(configuration.above(path)), entries)
        elif not os.path.lexists(path):
            self.missing.append(path)
        else:
            settings = self._adjust(configuration.above(os.path.dirname(path) or "."))
            self._file(path, whole, settings, entries, explicit=True)

    def _file(
        self,
        path: str,
        whole: str,
        settings: Settings,
        entries: list[Entry],
        *,
        explicit: bool = False,
        linked: bool = False,
    ) -> None:
        if whole not in self._files:
            self._files.add(whole)
            entries.append(entry_of(path, whole, settings, explicit=explicit, linked=linked))

    def _directory(
        self,
        path: str,
        whole: str,
        settings: Settings,
        entries: list[Entry],
        *,
        linked: bool = False,
    ) -> None:
        """Add what is in a folder, and in all folders below it, however deep."""
        walks = [self._entered(path, whole, settings, entries, linked=linked)]
        while walks:
            below = next(walks[-1], None)
            if below is None:
                walks.pop()
            else:
                walks.append(self._entered(*below, entries, linked=linked))

    def _entered(
        self, path: str, whole: str, settings: Settings, entries: list[Entry], *, linked: bool
    ) -> Iterator[tuple[str, str, Settings]]:
        """Add the files in a folder; the folders in it, in their place between these."""
        try:
            status = os.stat(path)
            if (status.st_dev, status.st_ino) in self._directories:
                return
            self._directories.add((status.st_dev, status.st_ino))
            with os.scandir(path) as listing:
                children = sorted(listing, key=lambda child: child.name)
        except OSError as error:
            shown = whole if path == os.curdir else path
            entries.append(Entry(shown, whole, settings, refusal=reason_of(error)))
            return
        self._project = self._project or project_of(path)
        if any(child.name == "pyproject.toml" for child in children):
            nearer = configuration.of_directory(path)
            torch = configuration.torch_of_directory(path) if nearer is None else ""
            settings = (
                settings.over(torch=torch or None) if nearer is None else self._adjust(nearer)
            )
        below = "" if path == "." else os.path.join(path, "")
        wholly = os.path.join(whole, "")
        for child in children:
            name = child.name
            if child.is_symlink():
                self._link(below + name, wholly + name, settings, entries)
            elif child.is_dir():
                if not settings.excludes(below + name):
                    yield below + name, wholly + name, settings
            elif settings.takes(below + name):
                self._file(below + name, wholly + name, settings, entries, linked=linked)

    def _link(self, path: str, whole: str, settings: Settings, entries: list[Entry]) -> None:
        """Add a link in a folder; links out of the project are left out, broken ones fail later."""
        is_folder = os.path.isdir(path)
        if settings.excludes(path) if is_folder else not settings.takes(path):
            return
        if not is_inside(path, self._project):
            self.outward.append(path)
        elif is_folder:
            self._linked.append((path, whole, settings))
        else:
            self._file(path, whole, settings, entries, linked=True)


def entry_of(
    path: str, whole: str, settings: Settings, *, explicit: bool = False, linked: bool = False
) -> Entry:
    """The entry of a file; one that cannot be read has a refusal."""
    try:
        status = os.stat(path)
        require(status, settings.max_file_size)
    except OSError as error:
        return Entry(path, whole, settings, 0, explicit, reason_of(error), linked=linked)
    stamp = stamp_of(status)
    return Entry(path, whole, settings, status.st_size, explicit, None, stamp, linked)


def project_of(folder: str) -> str:
    """The real path of the project that a folder is in."""
    real = real_path(folder)
    for root in (real, *configuration.parents(real)):
        if any(os.path.lexists(os.path.join(root, mark)) for mark in ROOT_MARKS):
            return root
    here = real_path(os.getcwd())
    return here if is_inside(real, here) else real


def _precedence(path: str) -> tuple[bool, list[str], int, str]:
    """Files come before directories, and outer directories before inner ones."""
    return os.path.isdir(path), os.path.abspath(path).split(os.sep), len(path), path
