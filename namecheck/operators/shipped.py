"""The text of the table that ships with namecheck, taken apart but not read.

It rests on what a test holds: every row is one line under ``[operators]``. Reading the whole at
every start would cost more than most files do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Shipped:
    """The line of each row by its key, and the text of the tables that follow the rows."""

    rows: Mapping[str, str]
    rest: str


@cache
def shipped() -> Shipped:
    """The table of this installation."""
    with open(os.path.join(os.path.dirname(__file__), "operators.toml"), encoding="utf-8") as file:
        _, _, text = file.read().partition("\n[operators]\n")
    rows, _, rest = text.partition("\n[python]\n")
    lines = (line for line in rows.splitlines() if " = " in line and not line.startswith("#"))
    return Shipped(
        {line.partition(" = ")[0].strip('"'): line for line in lines}, f"[python]\n{rest}"
    )
