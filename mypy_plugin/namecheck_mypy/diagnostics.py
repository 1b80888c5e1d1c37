"""What is to be told of a file, as plain data: it can be kept, and told without the engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

Found: TypeAlias = "dict[str, list[Diagnostic]]"
"""The diagnostics of each file, by its absolute path."""


NAMES: Final = "names"
"""The severity of what is not said, but answers a question: `message` has the names there."""

_UNNAMED: Final = "*"


class Diagnostic(NamedTuple):
    """One error or note: lines and columns from 1, the end exclusive, as those of a finding.

    `hints` are said after the message, at the same place.
    """

    code: str
    severity: str
    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    hints: tuple[str, ...] = ()


def names_of_place(names: Iterable[str | None], place: tuple[int, int, int, int]) -> Diagnostic:
    """What answers a question after the names of the tensor at a place."""
    return Diagnostic("", NAMES, " ".join(name or _UNNAMED for name in names), *place)


def names_by_place(
    diagnostics: Iterable[Diagnostic],
) -> dict[tuple[int, int, int, int], tuple[str | None, ...]]:
    """The names that are asked for, by line, column, last line and last column."""
    return {
        (it.line, it.column, it.end_line, it.end_column): tuple(
            None if name == _UNNAMED else name for name in it.message.split()
        )
        for it in diagnostics
        if it.severity == NAMES
    }


class Told:
    """What is to be told of each file, by its absolute path, with a digest of each.

    Of a file that mypy need not check again the digest is asked for, and nothing else.
    """

    def __init__(self, kept: dict[str, tuple[str, list[list[Any]]]] | None = None) -> None:
        self.kept = {} if kept is None else kept

    @staticmethod
    def of_found(found: Found) -> Told:
        """What was found, as it is kept."""
        kept = {}
        for location, diagnostics in found.items():
            records = [[*it] for it in diagnostics]
            text = json.dumps(records, separators=(",", ":"))
            kept[location] = hashlib.blake2b(text.encode(), digest_size=12).hexdigest(), records
        return Told(kept)

    def digest(self, location: str) -> str:
        """A word that changes whenever what is told of a file does; empty where nothing is."""
        return self.kept[location][0] if location in self.kept else ""

    def of(self, location: str) -> list[Diagnostic]:
        """The diagnostics of a file."""
        _, records = self.kept.get(location, ("", ()))
        return [Diagnostic._make((*fields, tuple(hints))) for *fields, hints in records]
