"""The folder of a cache, which an untrusted repository may have chosen, filled, or made a link.

A cache stays in its project, unless the user chose its folder. The database in it and the files
that SQLite puts beside it are regular files: SQLite writes through links, and deletes the file that
a journal names as its super-journal.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from namecheck.core.regular_files import is_inside, real_path

VARIABLE: Final = "NAMECHECK_CACHE_DIR"
"""The variable of the environment with the folder of the cache."""

_JOURNAL: Final = "-journal"
_BESIDE: Final = ("", _JOURNAL, "-wal", "-shm")
# The last bytes of a journal that belongs to a transaction over several databases.
_OF_SEVERAL: Final = bytes.fromhex("d9d505f920a163d7")


class Unusable(Exception):
    """An unusable cache; the message says why."""


def require(folder: str, database: str, project: str | None) -> None:
    """Raise `Unusable` for a folder outside the project, if given, and for a hostile database."""
    if project is not None and not is_inside(folder, project):
        place = real_path(folder)
        raise Unusable(f"{place} is outside the project; --cache-dir takes any folder")
    for suffix in _BESIDE:
        path = os.path.join(folder, database + suffix)
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{database}{suffix} is no regular file")
        if suffix == _JOURNAL and _is_of_several(path):
            raise Unusable(f"{database}{suffix} is not one of namecheck")


def make(folder: str) -> None:
    """Make the folder of a cache, which git ignores, unless there is one; raises OSError."""
    try:
        os.makedirs(folder)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
        return
    with open(os.path.join(folder, ".gitignore"), "x", encoding="utf-8") as file:
        file.write("*\n")


def _is_of_several(path: str) -> bool:
    """Whether a journal names a super-journal; ours are of one database."""
    with open(path, "rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(length - len(_OF_SEVERAL), 0))
        return file.read(len(_OF_SEVERAL)) == _OF_SEVERAL
