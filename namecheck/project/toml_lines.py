"""The lines of the keys in a TOML text, for messages about it: `tomllib` returns only values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_PART: Final = r"""[\w-]+|"[^"\\]*"|'[^']*'"""
_DOTTED: Final = rf"\s*((?:{_PART})(?:\s*\.\s*(?:{_PART}))*)\s*"
_STATEMENT: Final = rf"(?:\[\[?{_DOTTED}\]\]?|{_DOTTED}=)"


def line_of(text: str, *keys: str) -> int:
    """The line of a key, of the table around it where it has none, 1 where that has none either."""
    lines = {path: line for line, path in reversed([*_paths(text)])}
    return next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), 1)


def key_at(text: str, line: int) -> tuple[str, ...]:
    """The last key up to a line, with the tables around it."""
    return next((path for number, path in reversed([*_paths(text)]) if number <= line), ())


def _paths(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        if statement := re.match(_STATEMENT, line):
            header, key = statement.groups()
            words = tuple(word.strip("\"'") for word in re.findall(_PART, header or key))
            table, path = (words, words) if header else (table, table + words)
            yield from ((number, path[:count]) for count in range(1, len(path) + 1))
