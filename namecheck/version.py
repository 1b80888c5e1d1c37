"""The version of namecheck, and that of its table of operators."""

from __future__ import annotations

import os

VERSION = "0.1.0"


def table_version() -> str:
    """The version that ``table.toml`` gives itself.

    Read without a parser, which takes longer to import than all the rest of ``--version``.
    """
    path = os.path.join(os.path.dirname(__file__), "operators", "table.toml")
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(" = ")
            if key == "version":
                return value.strip().strip('"')
    return "unknown"
