"""The files of a program that is followed into installed packages: found, and never imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from typing import Final

from namecheck.core import regular_files, syntax
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.syntax import Refused, Source
from namecheck.project.files import ProjectFiles

# A file in the folder of a package, from which the package is imported.
_NEIGHBOUR: Final = "_.py"


def folders(packages: Iterable[str], path: Sequence[str] | None = None) -> dict[str, str]:
    """The folder that contains each package or module; one that is not found is left out.

    They are searched in the folders of `path`, by default those of ``sys.path``.
    """
    folder_of: dict[str, str] = {}
    for package in packages:
        spec = PathFinder.find_spec(package, sys.path if path is None else path)
        if spec is not None and spec.origin is not None:
            is_package = spec.submodule_search_locations is not None
            place = os.path.dirname(spec.origin) if is_package else spec.origin
            folder_of[package] = os.path.dirname(place)
    return folder_of


@dataclass(frozen=True)
class PackageFiles:
    """The files of a script's folder, and of some packages: `folder_of` contains each."""

    folder: str
    folder_of: Mapping[str, str]
    _files: ProjectFiles = field(default_factory=ProjectFiles)

    def find(self, importer: str, level: int, name: str) -> str | None:
        """The location of a module; None if neither the folder nor a package has it."""
        if level:
            return self._files.find(importer, level, name)
        folder = self.folder_of.get(name.partition(".")[0], self.folder)
        return self._files.find(os.path.join(folder, _NEIGHBOUR), 0, name)

    def member(self, package: str, name: str) -> str | None:
        """The module of this name in a package."""
        return self._files.member(package, name)

    def source(self, location: str) -> Source | None:
        """The file; None for a folder or an unreadable file."""
        return self._files.source(location)

    def name(self, location: str) -> str:
        """The dotted name of a module."""
        return self._files.name(location)

    def matters(self, location: str) -> bool:
        """Whether a file names dimensions."""
        return self._files.matters(location)

    def may_bind(self, location: str, name: str) -> bool:
        """Whether a file may bind a name, or one of which it imports all names."""
        return self._files.may_bind(location, name)

    def add(self, source: Source) -> None:
        """Store a file that was read elsewhere."""
        self._files.add(source.filename, source)


class PackageSources(Mapping[str, Source]):
    """Some files, and those of packages, which are parsed when they are looked at."""

    def __init__(self, sources: Mapping[str, Source], folder_of: Mapping[str, str]) -> None:
        self._parsed = dict(sources)
        stems = [os.path.join(folder, package) for package, folder in folder_of.items()]
        self._below = tuple(stem + end for stem in stems for end in (os.sep, ".py"))

    def __contains__(self, filename: object) -> bool:
        return filename in self._parsed or self.is_of_packages(filename)

    def is_of_packages(self, filename: object) -> bool:
        """Whether a file is one of a package."""
        return isinstance(filename, str) and filename.startswith(self._below)

    def __getitem__(self, filename: str) -> Source:
        if filename not in self._parsed:
            if not self.is_of_packages(filename):
                raise KeyError(filename)
            try:
                source = syntax.parse(regular_files.contents(filename), filename)
            except (OSError, Refused) as error:
                raise KeyError(filename) from error
            self._parsed[filename] = source
        return self._parsed[filename]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed)

    def __len__(self) -> int:
        return len(self._parsed)
