"""Reads the files of a project: regular files alone, up to a size.

A repository may have links to devices, named pipes that nobody writes, and files without an end.
This module reads all files of a repository: sources, settings and tables.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import cache
from typing import Final

from namecheck.core.faults import LimitError

VARIABLE: Final = "NAMECHECK_MAX_FILE_SIZE"
"""The variable of the environment with another limit, in bytes."""

_LIMIT: Final = 10_000_000
# To open a named pipe or a device must not wait, and a terminal must not become ours.
_FLAGS: Final = os.O_RDONLY | sum(
    getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)
_CHUNK: Final = 65_536
_KINDS: Final = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def contents(path: str, limit: int | None = None) -> bytes:
    """The contents of a regular file; raises OSError, for every other file and a large one too."""
    require(os.stat(path), limit)  # to open some devices does something to them
    handle = os.open(path, _FLAGS)
    try:
        status = os.fstat(handle)
        require(status, limit)
        return _read(handle, status)
    finally:
        os.close(handle)


def of_package(path: str) -> bytes:
    """The contents of a file of namecheck itself, for which no limit of a project counts."""
    require_kind(os.stat(path))
    with open(path, "rb") as file:
        return file.read()


def require(status: os.stat_result, limit: int | None = None) -> None:
    """Raise OSError for a file that is not regular, or has more bytes than the limits allow."""
    require_kind(status)
    most = largest() if limit is None else min(limit, largest())
    if status.st_size > most:
        raise _too_large(f"{status.st_size:,} bytes", most)


def require_kind(status: os.stat_result) -> None:
    """Raise OSError for a file that is not regular."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind != stat.S_IFREG:
        name = _KINDS.get(kind, "something else")
        raise OSError(errno.EINVAL, f"it is {name}, not a regular file")


@cache
def largest() -> int:
    """The number of bytes from which on a file is too large; raises `LimitError`."""
    word = os.environ.get(VARIABLE, "")
    if word and not word.isdecimal():
        raise LimitError(f"{VARIABLE}: a number of bytes is wanted, not '{word}'")
    return int(word) if word else _LIMIT


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is in a folder, wherever its links lead; or whether it is the folder."""
    real, root = real_path(path), real_path(folder)
    return real == root or real.startswith(os.path.join(root, ""))


def real_path(path: str) -> str:
    """Where a path leads; the path itself, if through more links than the system follows.

    Python would follow each of them, which takes long, or all of its stack.
    """
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return os.path.abspath(path)
    return os.path.realpath(path)


def reason_of(failure: OSError) -> str:
    """The operating system's reason for an error."""
    return failure.strerror or str(failure)


def _read(handle: int, status: os.stat_result) -> bytes:
    """The contents of a file, whose status may be outdated or have no size, as in /proc."""
    chunks: list[bytes] = []
    total = 0
    while chunk := os.read(handle, max(status.st_size - total, 0) + _CHUNK):
        chunks.append(chunk)
        total += len(chunk)
        if total > largest():
            raise _too_large("more bytes than its status tells", largest())
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(amount: str, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"it has {amount}, and no file over {limit:,} bytes is read")
