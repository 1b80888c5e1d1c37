"""The version data with which mypy decides whether its cache is from the same plugin."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache

import namecheck
from namecheck.core.stamps import sources, stamp
from namecheck.version import VERSION

PACKAGES = tuple(os.path.dirname(file) for file in (str(namecheck.__file__), __file__))
"""The folders of namecheck and of this plugin."""


@cache
def vocabulary() -> str:
    """A digest of the files of the plugin and of the operator table that it reads."""
    digest = hashlib.blake2b(digest_size=12)
    engine, plugin = PACKAGES
    operators = os.path.join(engine, "operators")
    rows = sorted(sources(os.path.join(operators, "table")))
    for path in (os.path.join(operators, "table.toml"), *rows, *sorted(sources(plugin))):
        with open(path, "rb", buffering=0) as file:
            digest.update(file.read())
    return digest.hexdigest()


def engine() -> str:
    """A digest that changes with any file of namecheck, its tables and this plugin included."""
    digest = hashlib.blake2b(digest_size=12)
    for package in PACKAGES:
        for path in sorted(sources(package)):
            digest.update(f"{path} {stamp(path)}\n".encode())
    return digest.hexdigest()


def of_daemon() -> str:
    """The version of namecheck, in a daemon with a digest of what changed since its start.

    A daemon compares this version at each run. It does not watch the settings and the files of
    namecheck, as they are none of the files that it checks.
    """
    if "mypy.dmypy_server" not in sys.modules:
        return VERSION
    begun, now = _state_at_start(), _state()
    return VERSION if begun == now else f"{VERSION}+{now}"


@cache
def _state_at_start() -> str:
    return _state()


def _state() -> str:
    """A digest of what findings depend on besides the files of the project."""
    from namecheck.project import settings

    try:
        tables = settings.above(".").extend_operators
    except settings.SettingsError:
        tables = ()
    files = (*settings.places("."), *tables)
    words = [engine(), *(stamp(file) for file in files)]
    return hashlib.blake2b(" ".join(words).encode(), digest_size=12).hexdigest()
