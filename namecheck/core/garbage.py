"""How often Python looks for circles among dead objects while an analysis runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# How many objects are made before the garbage collector looks at them; Python's own is 700.
_OBJECTS: Final = 50_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let the garbage collector run seldom: hardly anything that an analysis drops is a circle."""
    usual = gc.get_threshold()
    if 0 < usual[0] < _OBJECTS:
        gc.set_threshold(_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
