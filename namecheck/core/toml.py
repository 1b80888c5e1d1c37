"""TOML that a stranger may have written: `tomllib` takes long for keys of many parts."""

from __future__ import annotations

import tomllib
from typing import Any, Final

_PARTS: Final = 100


def loads(text: str) -> dict[str, Any]:
    """The contents of a TOML text; raises ValueError, with the line where that is known."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _PARTS and not line.lstrip().startswith("#"):
            key = line if line.lstrip().startswith("[") else line.partition("=")[0]
            if key.count(".") > _PARTS:
                raise ValueError(f"a key has too many parts (at line {number}, column 1)")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error
