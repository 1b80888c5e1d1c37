"""Paths relative to a folder, as they are kept in a cache that may be restored elsewhere.

They have slashes on every system. A path on another drive has no relative form and is kept
unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable


def relative(folder: str, location: str) -> str:
    """The path of a file from a folder; both are absolute."""
    inside = os.path.join(folder, "")
    if location.startswith(inside):
        below = location[len(inside) :]
    else:
        try:
            below = os.path.relpath(location, folder)
        except ValueError:
            return location
    return below if os.sep == "/" else below.replace(os.sep, "/")


def resolved(folder: str, path: str) -> str:
    """The location of a path that is relative to a folder; raises ValueError for no such path."""
    if path.removesuffix(".py").isidentifier():  # a module or package of the folder, as most are
        return f"{folder}{path}" if folder.endswith(os.sep) else f"{folder}{os.sep}{path}"
    if os.path.isabs(path):
        return path
    below = path
    while below == ".." or below.startswith("../"):
        folder, below = os.path.dirname(folder), below[3:]
    if f"/{below}/".find("/../") >= 0 or "\0" in below:
        raise ValueError(path)
    if below in ("", "."):
        return folder
    return os.path.join(folder, below if os.sep == "/" else below.replace("/", os.sep))


def common(locations: Iterable[str]) -> str:
    """The lowest folder that all files are in; that of the first, where they are on many drives."""
    folders = sorted({os.path.dirname(location) for location in locations})
    try:
        return os.path.commonpath(folders)
    except ValueError:
        return folders[0] if folders else os.sep
