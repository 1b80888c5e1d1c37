"""The version of namecheck, and that of its table of operators."""

from __future__ import annotations

import os
import re
from typing import Final

VERSION: Final = "0.1.0"


def table_version() -> str:
    """The version that ``table.toml`` gives itself.

    Read by a pattern, because parsing the table takes longer than all the rest of ``--version``.
    """
    path = os.path.join(os.path.dirname(__file__), "operators", "table.toml")
    with open(path, encoding="utf-8") as file:
        for line in file:
            if match := re.match(r'version = "([^"]*)"', line):
                return match[1]
    return "unknown"
