"""The diagnostics of the last run, valid as long as nothing that they depend on has changed.

A warm run of mypy takes a few tenths of a second: it reads one file, and does not import the
analysis. In any doubt the analysis runs again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from namecheck.core.stamps import YOUNG, stamp, youngest
from namecheck_mypy.diagnostics import StoredDiagnostics
from namecheck_mypy.versions import engine

_FILE: Final = "diagnostics.json"


class Snapshot:
    """The file with the diagnostics; `key_parts` identify the request."""

    def __init__(self, folder: str, key_parts: Iterable[str]) -> None:
        self._path = os.path.join(folder, _FILE)
        self._begun = time.time_ns()
        self._key = [os.getcwd(), sys.version, engine(), *key_parts]

    def load(self) -> StoredDiagnostics | None:
        """The stored diagnostics, None if they are missing or not valid."""
        try:
            with open(self._path, "rb") as file:
                content = json.load(file)
            if content["key"] != self._key:
                return None
            if any(stamp(path) != stored for path, stored in content["files"].items()):
                return None
            if any(_listing(folder) != listed for folder, listed in content["folders"].items()):
                return None
            return StoredDiagnostics(content["diagnostics"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(
        self, stored: StoredDiagnostics, consulted: Iterable[str], folders: Iterable[str]
    ) -> None:
        """Store the diagnostics, unless a file changed during the analysis or just before it.

        They depend on the files `consulted`, and on the names in the searched `folders`.
        """
        stamps = {path: stamp(path) for path in consulted}
        if any(youngest(each) > self._begun - YOUNG for each in stamps.values()):
            return
        record: dict[str, Any] = {
            "key": self._key,
            "files": stamps,
            "folders": {folder: _listing(folder) for folder in folders},
            "diagnostics": stored.by_file,
        }
        from namecheck.core.file_replacement import CannotWrite, save

        with suppress(OSError, CannotWrite):
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            save(self._path, json.dumps(record, separators=(",", ":")).encode())


def _listing(folder: str) -> str:
    """A digest of the names of modules and packages in a folder."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    modules = [name for name in names if name.endswith((".py", ".pyi")) or name.isidentifier()]
    return hashlib.blake2b("\n".join(modules).encode(), digest_size=12).hexdigest()
