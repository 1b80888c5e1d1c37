"""Digests of file contents: a file with an unchanged stamp is not read again."""

from __future__ import annotations

import hashlib
import itertools
import os
import time
from collections.abc import Iterable
from functools import cache
from typing import Final

from namecheck.core import regular_files, stamps
from namecheck.project.paths import relative

_FOLDER: Final = b"folder"

_NOTHING: Final = b""


class Contents:
    """The digests of files when they are first needed; `earlier` are those of an earlier run.

    Each earlier digest has the stamp of its file: size, times, inode. The digest of a file that
    cannot be read is empty. `read_anew` counts the files that had to be read.
    """

    def __init__(self, earlier: dict[str, tuple[str, bytes]] | None = None) -> None:
        self._earlier = {} if earlier is None else earlier
        self._begun = time.time_ns()
        self._stamps: dict[str, str] = {}
        self._seen: dict[str, tuple[str, bytes]] = {}
        self.read_anew = 0

    def set_stamp(self, location: str, stamp: str) -> None:
        """Set the stamp of a file as it was read in this run, unless the file has one."""
        self._stamps.setdefault(location, stamp)

    def digest(self, location: str) -> bytes:
        """The digest of a file."""
        if location not in self._seen:
            stamp = self._stamps.get(location) or stamps.stamp(location)
            entry = self._earlier.get(location)
            if entry is None or not stamp or entry[0] != stamp:
                entry = stamp, _digest(location)
                self.read_anew += 1
            self._seen[location] = entry
        return self._seen[location][1]

    def is_settled(self, location: str) -> bool:
        """Whether a file is unchanged since the first look."""
        self.digest(location)
        return self._seen[location][0] == stamps.stamp(location)

    def is_old(self, location: str) -> bool:
        """Whether a file has been unchanged since before this run."""
        return stamps.youngest(stamps.stamp(location)) < self._begun

    def stamps(self) -> Iterable[tuple[str, str, bytes]]:
        """Location, stamp and digest of each file whose stamp a later run can trust.

        A file that was too large to be read may not be so for a run with another limit.
        """
        now = time.time_ns()
        for location, (stamp, digest) in self._seen.items():
            if stamp and digest and stamps.youngest(stamp) < now - stamps.YOUNG:
                yield location, stamp, digest


def _digest(location: str) -> bytes:
    try:
        return digest(regular_files.contents(location))
    except IsADirectoryError:
        return _FOLDER
    except OSError:
        return _NOTHING


def digest(*contents: bytes) -> bytes:
    """A digest of texts, each with its length."""
    hashed = hashlib.blake2b(digest_size=16)
    for text in contents:
        hashed.update(len(text).to_bytes(8, "big"))
        hashed.update(text)
    return hashed.digest()


@cache
def engine() -> bytes:
    """The digest of namecheck itself, its tables included, wherever it is installed.

    No limit of a project on the size of its files counts here.
    """
    package = os.path.dirname(os.path.dirname(__file__))
    files = sorted((relative(package, file), file) for file in stamps.sources(package))
    texts = ((name.encode(), digest(regular_files.of_package(file))) for name, file in files)
    return digest(*itertools.chain.from_iterable(texts))
