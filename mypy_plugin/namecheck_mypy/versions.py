"""What mypy compares to tell whether what it remembers was made by the same plugin."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from namecheck.version import VERSION

_TABLE: Final = "operators.toml"


@cache
def vocabulary() -> str:
    """A word that changes with the plugin, and with the table of operators that it reads."""
    made = hashlib.blake2b(digest_size=12)
    files = [*Path(__file__).parent.rglob("*.py")]
    spec = find_spec("namecheck")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        files.append(Path(folder, _TABLE))
    for file in sorted(files):
        made.update(file.read_bytes())
    return made.hexdigest()


def of_daemon() -> str:
    """The version of namecheck, and in a daemon what has changed since it began.

    A daemon that is asked to run compares this with what it was; edits of settings and of the
    engine are no edits of a file that it checks.
    """
    if "mypy.dmypy_server" not in sys.modules:
        return VERSION
    begun, now = _begun(), _surroundings()
    return VERSION if begun == now else f"{VERSION}+{now}"


@cache
def _begun() -> str:
    return _surroundings()


def _surroundings() -> str:
    """What findings depend on besides the files of the project."""
    from namecheck import settings
    from namecheck_mypy.snapshot import engine, stamp

    try:
        tables = settings.above(".").extend_operators
    except settings.SettingsError:
        tables = ()
    folders = [os.getcwd()]
    while os.path.dirname(folders[-1]) != folders[-1]:
        folders.append(os.path.dirname(folders[-1]))
    files = [*(os.path.join(folder, "pyproject.toml") for folder in folders), *tables]
    words = [engine(), *(stamp(file) for file in files)]
    return hashlib.blake2b(" ".join(words).encode(), digest_size=12).hexdigest()
