"""Paths of files as programs on other machines look them up: from the root of the repository."""

from __future__ import annotations

import os
from functools import cache

from namecheck.core.findings import Span


@cache
def repository(folder: str) -> str:
    """The nearest folder upward with a ``.git``, else the folder itself."""
    above = folder
    while not os.path.exists(os.path.join(above, ".git")):
        if os.path.dirname(above) == above:
            return folder
        above = os.path.dirname(above)
    return above


def in_repository(filename: str) -> str:
    """The path of a file from the root of the repository around the working folder.

    It has slashes on every system. A file outside of the repository keeps its absolute path.
    """
    location = os.path.abspath(filename)
    inside = os.path.join(repository(os.getcwd()), "")
    return location.removeprefix(inside).replace(os.sep, "/")


def uri(filename: str) -> str:
    """The path from the root of the repository as a relative reference, or an absolute URI."""
    from urllib.parse import quote

    path = in_repository(filename)
    prefix = "file://" if path.startswith("/") else "file:///" if path[1:3] == ":/" else ""
    return prefix + quote(path, safe="/:" if prefix else "/", errors="surrogateescape")


def place(filename: str, span: Span) -> str:
    """``models/net.py:3:8``, from the root of the repository."""
    return f"{in_repository(filename)}:{span.line}:{span.column}"
