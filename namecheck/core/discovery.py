"""The modules of a package that are entered by standing in its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable


def modules_in(folders: Iterable[str]) -> tuple[str, ...]:
    """The names of the modules in the folders of a package, in alphabetical order of each.

    It reads the folders only: a name is known before, and without, the import of its module.
    """
    files = (os.path.splitext(file) for folder in folders for file in sorted(os.listdir(folder)))
    return tuple(stem for stem, suffix in files if suffix == ".py" and stem != "__init__")
