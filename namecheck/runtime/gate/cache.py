"""Where the compiled gate of this environment is, and whether it may be loaded.

To load a shared object is to run its code. So a gate is loaded only from a folder of the user that
nobody else can write to, and only if it is what `compiler.build` has left there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import torch

from namecheck.core import regular_files

_SOURCE: Final = Path(__file__).with_name("source")
# The files of the source, in the order in which they are compiled as one.
PARTS: Final = (
    "structure.c",
    "names.c",
    "memos.c",
    "originals.c",
    "general_calls.c",
    "positional_calls.c",
    "indexing.c",
    "type.c",
)
MODULE: Final = "namecheck_gate"
# Beside the source, what is compiled depends on these.
OPTIONS: Final = ("-O2", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-shared")
_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH
_LARGEST: Final = 4_000_000  # bytes


class Unusable(Exception):
    """There is no gate that may be loaded; the message says why."""


class NotBuilt(Unusable):
    """No gate was built for this Python, this torch and this source, or none can be."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The files of one gate: the shared object, and the record of what was built."""

    folder: str

    @property
    def library(self) -> str:
        """The path of the shared object."""
        return os.path.join(self.folder, f"{MODULE}.so")

    @property
    def record(self) -> str:
        """The path of the record."""
        return os.path.join(self.folder, "gate.json")

    def require(self) -> None:
        """Raise `Unusable` unless the files are the user's own, and as they were built."""
        require_private(os.path.dirname(os.path.dirname(self.folder)))
        require_private(os.path.dirname(self.folder))
        require_private(self.folder)
        expected = {"source": digest(), "library": _digest_of(_contents(self.library))}
        try:
            recorded = json.loads(_contents(self.record))
        except ValueError:
            recorded = None
        if recorded != expected:
            raise Unusable(f"{self.library} is not what was built: build it again")


def root() -> str:
    """The folder of all gates of the user; raises `NotBuilt` if there is no folder for caches."""
    if not hasattr(os, "geteuid"):
        raise NotBuilt("a gate needs an operating system that tells the owner of a file")
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        raise NotBuilt("the user has no home folder")
    return os.path.join(base, "namecheck", "gate")


def entry() -> Entry:
    """The entry of this Python, this torch and this source; its files may not exist."""
    abi = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag or ""
    key = f"{abi}-torch-{torch.__version__}-{digest()[:16]}"
    return Entry(os.path.join(root(), re.sub(r"[^\w.+-]", "_", key)))


def built() -> Entry:
    """The entry of the gate to load; raises `Unusable`."""
    present = entry()
    if not os.path.lexists(present.record):
        raise NotBuilt("no gate was built for this Python, torch and namecheck")
    present.require()
    return present


@cache
def digest() -> str:
    """What tells one source, with the options of its compiler, from another."""
    return _digest_of(source() + " ".join(OPTIONS).encode())


def source() -> bytes:
    """What is compiled: files of namecheck itself; raises `Unusable` if one is missing.

    Each begins with a line that tells the compiler the name of the file, for its messages.
    """
    return b"".join(f'#line 1 "{part}"\n'.encode() + _part(part) for part in PARTS)


def _part(name: str) -> bytes:
    path = str(_SOURCE / name)
    try:
        return regular_files.contents(path, _LARGEST)
    except OSError as error:
        raise Unusable(f"{path}: {regular_files.reason_of(error)}") from None


def record_of(library: bytes) -> bytes:
    """The record of a gate that was just built."""
    return json.dumps({"source": digest(), "library": _digest_of(library)}).encode()


def require_private(path: str) -> None:
    """Raise `Unusable` unless a file or folder is the user's, and nobody else may write to it."""
    try:
        status = os.lstat(path)
    except OSError as error:
        raise Unusable(f"{path}: {regular_files.reason_of(error)}") from None
    if stat.S_ISLNK(status.st_mode):
        raise Unusable(f"{path} is a link")
    if status.st_uid != os.geteuid():
        raise Unusable(f"{path} belongs to another user")
    if status.st_mode & _WRITABLE:
        raise Unusable(f"{path} can be written by others")


def _contents(path: str) -> bytes:
    require_private(path)
    try:
        return regular_files.contents(path, _LARGEST)
    except OSError as error:
        raise Unusable(f"{path}: {regular_files.reason_of(error)}") from None


def _digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
