"""What was found in the last run, for as long as nothing that it depends on has changed.

A warm run of mypy takes a few tenths of a second: it is answered from one file, and the engine is
not even imported. Whatever is in doubt, the engine decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from typing import Any, Final

from namecheck.project.stamps import YOUNG, stamp, youngest
from namecheck_mypy.diagnostics import Told
from namecheck_mypy.versions import engine

_FILE: Final = "found.json"


class Snapshot:
    """The file that keeps what was found; `key` stands for all that was asked for."""

    def __init__(self, folder: str, key: Iterable[str]) -> None:
        self._path = os.path.join(folder, _FILE)
        self._begun = time.time_ns()
        self._key = [os.getcwd(), sys.version, engine(), *key]

    def load(self) -> Told | None:
        """What was found, None where it has to be found anew."""
        try:
            with open(self._path, "rb") as file:
                kept = json.load(file)
            if kept["key"] != self._key:
                return None
            if any(stamp(path) != known for path, known in kept["files"].items()):
                return None
            if any(_listing(folder) != listed for folder, listed in kept["folders"].items()):
                return None
            return Told(kept["told"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, told: Told, files: Iterable[str], folders: Iterable[str]) -> None:
        """Keep what was found, if none of the files changed while or just before it was."""
        stamps = {path: stamp(path) for path in files}
        if any(youngest(found) > self._begun - YOUNG for found in stamps.values()):
            return
        kept: dict[str, Any] = {
            "key": self._key,
            "files": stamps,
            "folders": {folder: _listing(folder) for folder in folders},
            "told": told.kept,
        }
        part = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(part, "w", encoding="utf-8") as file:
                json.dump(kept, file, separators=(",", ":"))
            os.replace(part, self._path)
        except OSError:
            return


def _listing(folder: str) -> str:
    """The modules and packages of a folder, as far as its own listing tells."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    told = [name for name in names if name.endswith((".py", ".pyi")) or name.isidentifier()]
    return hashlib.blake2b("\n".join(told).encode(), digest_size=12).hexdigest()
