"""How often Python's garbage collector runs during an analysis."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# How many objects are made before the garbage collector runs; Python's default is 700. All that the
# analysis of a small file leaves is one cycle: it is cheaper to look at many of these at once.
_OBJECTS: Final = 400_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Run the garbage collector rarely: an analysis makes few reference cycles."""
    usual = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def collect_seldom() -> None:
    """Run the garbage collector rarely from now on.

    A process that ends after an analysis does not go back to the usual: Python would then search
    all that the analysis has left at once.
    """
    usual = gc.get_threshold()
    if 0 < usual[0] < _OBJECTS:
        gc.set_threshold(_OBJECTS, *usual[1:])
