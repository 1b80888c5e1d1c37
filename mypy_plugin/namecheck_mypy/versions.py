"""What mypy compares to tell whether what it remembers was made by the same plugin."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache

import namecheck
from namecheck.project.stamps import sources, stamp
from namecheck.version import VERSION

PACKAGES = tuple(os.path.dirname(file) for file in (str(namecheck.__file__), __file__))
"""The folders of namecheck and of this plugin."""


@cache
def vocabulary() -> str:
    """A word that changes with the plugin, and with the table of operators that it reads."""
    made = hashlib.blake2b(digest_size=12)
    engine, plugin = PACKAGES
    operators = os.path.join(engine, "operators")
    rows = sorted(sources(os.path.join(operators, "table")))
    for path in (os.path.join(operators, "table.toml"), *rows, *sorted(sources(plugin))):
        with open(path, "rb", buffering=0) as file:
            made.update(file.read())
    return made.hexdigest()


def engine() -> str:
    """What changes whenever a file of namecheck does, its tables and this plugin included."""
    made = hashlib.blake2b(digest_size=12)
    for package in PACKAGES:
        for path in sorted(sources(package)):
            made.update(f"{path} {stamp(path)}\n".encode())
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
    from namecheck.project import settings

    try:
        tables = settings.above(".").extend_operators
    except settings.SettingsError:
        tables = ()
    files = (*settings.places("."), *tables)
    words = [engine(), *(stamp(file) for file in files)]
    return hashlib.blake2b(" ".join(words).encode(), digest_size=12).hexdigest()
