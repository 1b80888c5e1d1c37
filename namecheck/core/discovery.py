"""The modules of a package that are entered by standing in its folder."""

from __future__ import annotations

import os


def modules_beside(init: str) -> tuple[str, ...]:
    """The names of the modules beside an ``__init__.py``, in alphabetical order.

    It reads the folder only: a name is known before, and without, the import of its module.
    """
    names = (os.path.splitext(name) for name in sorted(os.listdir(os.path.dirname(init))))
    return tuple(stem for stem, suffix in names if suffix == ".py" and stem != "__init__")
