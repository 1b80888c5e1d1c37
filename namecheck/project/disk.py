"""Where files are read and folders listed: the disk of this machine, or what another one sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Protocol

from namecheck.core import regular_files
from namecheck.core.dataclasses import dataclass, field


class Disk(Protocol):
    """Files and folders by their locations, as one machine has them."""

    @property
    def working_folder(self) -> str:
        """The folder that the command runs in."""
        ...

    def contents(self, location: str) -> bytes:
        """The contents of a file; raises OSError."""
        ...

    def listing(self, folder: str) -> frozenset[str]:
        """The names in a folder, none where it cannot be read."""
        ...


class OwnDisk:
    """The disk of this machine."""

    @property
    def working_folder(self) -> str:
        """The folder that the command runs in."""
        return os.getcwd()

    def contents(self, location: str) -> bytes:
        """The contents of a file; raises OSError."""
        return regular_files.contents(location)

    def listing(self, folder: str) -> frozenset[str]:
        """The names in a folder, none where it cannot be read."""
        try:
            return frozenset(os.listdir(folder))
        except OSError:
            return frozenset()


OWN: Final = OwnDisk()


@dataclass(slots=True)
class Snapshot:
    """The part of a disk that was sent to another machine; `unsent` collects what else is asked.

    A file that cannot be read is None.
    """

    working_folder: str
    files: Mapping[str, bytes | None]
    folders: Mapping[str, frozenset[str]]
    unsent: set[str] = field(default_factory=set)

    def contents(self, location: str) -> bytes:
        """The contents of a file; raises OSError."""
        data = self.files.get(location)
        if data is None:
            if location not in self.files:
                self.unsent.add(location)
            raise FileNotFoundError(location)
        return data

    def listing(self, folder: str) -> frozenset[str]:
        """The names in a folder, none where it cannot be read."""
        if folder not in self.folders:
            self.unsent.add(folder)
        return self.folders.get(folder, frozenset())


class Recorder:
    """The disk of this machine, read once; keeps what was read of it, to be sent elsewhere."""

    def __init__(self) -> None:
        self.working_folder = OWN.working_folder
        self.files: dict[str, bytes | None] = {}
        self.folders: dict[str, frozenset[str]] = {}

    def contents(self, location: str) -> bytes:
        """The contents of a file; raises OSError."""
        if location not in self.files:
            try:
                self.files[location] = OWN.contents(location)
            except OSError:
                self.files[location] = None
                raise
        data = self.files[location]
        if data is None:
            raise FileNotFoundError(location)
        return data

    def listing(self, folder: str) -> frozenset[str]:
        """The names in a folder, none where it cannot be read."""
        if folder not in self.folders:
            self.folders[folder] = OWN.listing(folder)
        return self.folders[folder]
