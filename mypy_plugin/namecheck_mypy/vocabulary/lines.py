"""What the lines of the table tell before any is read: which rows speak of dims and names at all.

mypy asks of every call that it meets, also where torch is not meant; a run in which none of these
words is met need not import what reads rows.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from namecheck.operators.shipped import shipped

# How the table marks the rows of the naming API (named_tensor.rst).
_NAMING: Final = "See documentation"

# A parameter that takes dims or names, among its kinds.
_DIMS: Final = re.compile(r"[:|](?:dim|name)s?\b")


@cache
def spoken() -> frozenset[str]:
    """The keys of the rows with a parameter that takes dims or names."""
    return frozenset(key for key, line in shipped().rows.items() if _DIMS.search(line))


def naming_api() -> list[str]:
    """The keys of the rows of the naming API."""
    return [key for key, line in shipped().rows.items() if _NAMING in line]
