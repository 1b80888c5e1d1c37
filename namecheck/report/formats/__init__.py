"""The output formats of `namecheck check`: each module here is one, by the name of its file.

A module registers itself by the constant `FORMAT`; it is imported when its format is requested.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from namecheck.core.discovery import modules_in

if TYPE_CHECKING:
    from namecheck.report.listing import Listing


class Format(NamedTuple):
    """An output format.

    `lines` returns the output for a run. `fix_budget` is the number of steps that may be
    spent to find the fixes that are shown with the findings; with 0 the format shows none. Some
    formats explain refused fixes too.
    """

    lines: Callable[[Listing], Iterator[str]]
    fix_budget: int = 0
    explains: bool = False


def names() -> tuple[str, ...]:
    """The names of all output formats."""
    return modules_in([os.path.dirname(__file__)])


def load(name: str) -> Format:
    """The output format with this name."""
    output_format: Format = import_module(f"{__name__}.{name}").FORMAT
    return output_format
