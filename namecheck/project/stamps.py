"""Stamps of files: what is another when a file was written, without reading it.

A stamp is a text of size, inode and times. Two contents that are written one after the other, in
the same tick of the clock of a file system, may have one stamp: a young one is not to be trusted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

YOUNG: Final = 2_000_000_000
"""The age in nanoseconds up to which a stamp may be that of two contents."""


def stamp(path: str) -> str:
    """The stamp of a file; empty where it cannot be had."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ""


def stamp_of(status: os.stat_result) -> str:
    """The stamp of a file with this status."""
    return f"{status.st_size} {status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"


def youngest(stamp_text: str) -> int:
    """The time at which a file with this stamp was last touched, in nanoseconds; 0 of none."""
    return max(map(int, stamp_text.split()[2:]), default=0)


def sources(package: str) -> Iterator[str]:
    """The files that a package is made of: its modules and tables."""
    with os.scandir(package) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".toml")):
                yield entry.path
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from sources(entry.path)
