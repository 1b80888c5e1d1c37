"""Stamps of files: they change when a file is written, and need no reading of it.

A stamp is a text of size, inode and times. Two contents that are written in the same tick of the
file system's clock may have the same stamp: a young stamp cannot be trusted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

YOUNG: Final = 2_000_000_000
"""Up to this age, in nanoseconds, two contents may have the same stamp."""


def stamp(path: str) -> str:
    """The stamp of a file; empty where it is not available."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ""


def stamp_of(status: os.stat_result) -> str:
    """The stamp of a file with this status."""
    return f"{status.st_size} {status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"


def youngest(stamp_text: str) -> int:
    """The time of the last change of a file with this stamp, in nanoseconds; 0 for no stamp."""
    return max(map(int, stamp_text.split()[2:]), default=0)


def sources(package: str) -> Iterator[str]:
    """The source files of a package: its modules and tables."""
    with os.scandir(package) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".toml")):
                yield entry.path
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from sources(entry.path)
