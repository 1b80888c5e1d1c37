"""What files hold, by digests: a file whose stamp is as it was is not read again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from functools import cache
from typing import Final

from namecheck.project import stamps

_FOLDER: Final = b"folder"
_NOTHING: Final = b""


class Contents:
    """The digests of files as they are at the first look; `known` are those of an earlier run.

    Each known one has the file's stamp: size, times, inode. The digest of what cannot be read is
    empty.
    """

    def __init__(self, known: dict[str, tuple[str, bytes]] | None = None) -> None:
        self._known = {} if known is None else known
        self._begun = time.time_ns()
        self._stamps: dict[str, str] = {}
        self._seen: dict[str, tuple[str, bytes]] = {}

    def found(self, location: str, stamp: str) -> None:
        """Take a stamp that was read in this run for the first look at a file."""
        self._stamps.setdefault(location, stamp)

    def digest(self, location: str) -> bytes:
        """The digest of a file."""
        if location not in self._seen:
            stamp = self._stamps.get(location) or stamps.stamp(location)
            known = self._known.get(location)
            if known is None or not stamp or known[0] != stamp:
                known = stamp, _digest(location)
            self._seen[location] = known
        return self._seen[location][1]

    def is_settled(self, location: str) -> bool:
        """Whether a file is still what it was at the first look."""
        self.digest(location)
        return self._seen[location][0] == stamps.stamp(location)

    def is_old(self, location: str) -> bool:
        """Whether a file was there, as it is, before this run began."""
        return stamps.youngest(stamps.stamp(location)) < self._begun

    def stamps(self) -> Iterable[tuple[str, str, bytes]]:
        """Location, stamp and digest of each file whose stamp can be trusted another time."""
        now = time.time_ns()
        for location, (stamp, digest) in self._seen.items():
            if stamp and stamps.youngest(stamp) < now - stamps.YOUNG:
                yield location, stamp, digest


def _digest(location: str) -> bytes:
    try:
        with open(location, "rb", buffering=0) as file:
            return digest(file.readall())
    except IsADirectoryError:
        return _FOLDER
    except OSError:
        return _NOTHING


def digest(*parts: bytes) -> bytes:
    """A digest of texts, as they are told apart."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "big"))
        made.update(part)
    return made.digest()


@cache
def engine() -> bytes:
    """The digest of namecheck itself, its tables included."""
    files = sorted(stamps.sources(os.path.dirname(os.path.dirname(__file__))))
    return digest(*(part for file in files for part in (file.encode(), _digest(file))))
