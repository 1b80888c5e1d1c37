"""Finds the modules of a package that register themselves when they are imported."""

from __future__ import annotations

import os
from collections.abc import Iterable


def modules_in(folders: Iterable[str]) -> tuple[str, ...]:
    """The names of the modules in the folders of a package, in alphabetical order of each.

    It reads the folders only and imports no module.
    """
    files = (os.path.splitext(file) for folder in folders for file in sorted(os.listdir(folder)))
    return tuple(stem for stem, suffix in files if suffix == ".py" and stem != "__init__")
