"""The lines of the shipped table, split but not parsed.

Every row is one line (a test checks this). Parsing the whole table at every start would take longer
than the analysis of most files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.faults import TableError

_FOLDER: Final = os.path.dirname(__file__)

HEAD: Final = os.path.join(_FOLDER, "table.toml")
"""The file with the settings of the whole table."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """The line of each row by its key, and the text that applies to the whole table."""

    rows: Mapping[str, str]
    head: str


def sections(folder: str = os.path.join(_FOLDER, "table")) -> list[str]:
    """The files of rows, one a section of the specification, in the order of their names."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))
    return [os.path.join(folder, name) for name in names]


def lines(paths: Sequence[str]) -> dict[str, str]:
    """The line of each row in some files; raises `TableError` where two rows have one key."""
    by_key: dict[str, str] = {}
    count = 0
    for path in paths:
        section = dict(_rows(_text(path)))
        count += len(section)
        by_key |= section
        if len(by_key) < count:
            raise TableError(_duplicate(paths))
    return by_key


@cache
def shipped() -> Shipped:
    """The table of this installation."""
    return Shipped(lines(sections()), _text(HEAD))


def fault(key: str, reason: object) -> TableError:
    """The error for a shipped row, with its file and line; rows of users are checked when read."""
    for path in sections():
        for number, line in enumerate(_text(path).splitlines(), 1):
            if key in dict(_rows(line)):
                return TableError(f"{path}:{number}: operator '{key}': {reason}")
    return TableError(f"operator '{key}': {reason}")


@cache
def column(name: str) -> Mapping[str, str]:
    """The word in a column of each row that has one, by key; read without parsing the row."""
    start = f' {name} = "'
    words = {}
    for key, line in shipped().rows.items():
        _, present, rest = line.partition(start)
        if present:
            words[key] = rest.partition('"')[0]
    return MappingProxyType(words)


def _text(file: str) -> str:
    with open(file, encoding="utf-8") as stream:
        return stream.read()


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """Key and line of every row."""
    for line in text.splitlines():
        key, equals, _ = line.partition(" = ")
        if equals and key[0] != "#":
            yield key.strip('"'), line


def _duplicate(paths: Sequence[str]) -> str:
    """The place of the first key that two rows have."""
    homes: dict[str, str] = {}
    for path in paths:
        for number, line in enumerate(_text(path).splitlines(), 1):
            for key, _ in _rows(line):
                if key in homes:
                    return f"{path}:{number}: operator '{key}' has a row already, at {homes[key]}"
                homes[key] = f"{path}:{number}"
    return f"{paths[-1]}:1: an operator has two rows"
