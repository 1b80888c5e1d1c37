"""Lints: patterns that are no contradictions, and that only reading ahead can see.

Each file of this folder is one lint, and is discovered. The docstring of the file is what
``namecheck rule CODE`` prints: one sentence that sums it up, what the lint reports and why, a
program that is bad and the same mended. `CODE` is its number, the name of the file the name that
suppressions may use. The class `Lint` listens to the events of one file's analysis.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.events import Listener


@cache
def discovered() -> tuple[type[Listener], ...]:
    """The lints of this folder, by the names of their files."""
    return tuple(_lints())


def _lints() -> Iterator[type[Listener]]:
    for entry in sorted(os.listdir(os.path.dirname(__file__))):
        name, extension = os.path.splitext(entry)
        if extension == ".py" and name != "__init__":
            lint: type[Listener] = importlib.import_module(f"{__name__}.{name}").Lint
            yield lint
