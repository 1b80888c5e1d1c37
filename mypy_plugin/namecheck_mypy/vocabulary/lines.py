"""Finds the rows with parameters for dims or names, by their text, without parsing the table.

mypy looks hooks up for every call, also of other libraries. A run without any of these names need
not import the parser of rows.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from namecheck.operators.shipped import shipped

# The mark of the rows of the naming API in the table (named_tensor.rst).
_NAMING: Final = "See documentation"

# A parameter that takes dims or names, among its kinds.
_DIMS: Final = re.compile(r"[:|](?:dim|name)s?\b")


@cache
def keys_with_names() -> frozenset[str]:
    """The keys of the rows with a parameter that takes dims or names."""
    return frozenset(key for key, line in shipped().rows.items() if _DIMS.search(line))


def naming_api() -> list[str]:
    """The keys of the rows of the naming API."""
    return [key for key, line in shipped().rows.items() if _NAMING in line]
