"""The diagnostics of files as plain data, which can be stored and reported without an analysis."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

Diagnostics: TypeAlias = "dict[str, list[Diagnostic]]"
"""The diagnostics of each file, by its absolute path."""


NAMES: Final = "names"
"""The severity of an answer to ``reveal_type``: it is not shown, and `message` has the names."""

_UNNAMED: Final = "*"


class Diagnostic(NamedTuple):
    """One error or note; lines and columns start at 1, the end is exclusive, as for findings.

    `hints` are notes after the message, at the same position.
    """

    code: str
    severity: str
    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    hints: tuple[str, ...] = ()


def names_at(tensor_names: Iterable[str | None], span: tuple[int, int, int, int]) -> Diagnostic:
    """The names of the tensor at a span."""
    return Diagnostic("", NAMES, " ".join(name or _UNNAMED for name in tensor_names), *span)


def names_by_span(
    diagnostics: Iterable[Diagnostic],
) -> dict[tuple[int, int, int, int], tuple[str | None, ...]]:
    """The revealed names, by line, column, end line and end column."""
    return {
        (it.line, it.column, it.end_line, it.end_column): tuple(
            None if name == _UNNAMED else name for name in it.message.split()
        )
        for it in diagnostics
        if it.severity == NAMES
    }


class StoredDiagnostics:
    """The diagnostics of each file by its absolute path, as JSON data with a digest.

    Only the digest is read for a file that mypy does not check again.
    """

    def __init__(self, by_file: dict[str, tuple[str, list[list[Any]]]] | None = None) -> None:
        self.by_file = {} if by_file is None else by_file

    @staticmethod
    def of_diagnostics(diagnostics_by_file: Diagnostics) -> StoredDiagnostics:
        """Convert diagnostics to the form in which they are stored."""
        by_file = {}
        for location, diagnostics in diagnostics_by_file.items():
            records = [[*it] for it in diagnostics]
            text = json.dumps(records, separators=(",", ":"))
            by_file[location] = hashlib.blake2b(text.encode(), digest_size=12).hexdigest(), records
        return StoredDiagnostics(by_file)

    def digest(self, location: str) -> str:
        """A digest of the diagnostics of a file; empty if there are none."""
        return self.by_file[location][0] if location in self.by_file else ""

    def of(self, location: str) -> list[Diagnostic]:
        """The diagnostics of a file."""
        _, records = self.by_file.get(location, ("", ()))
        return [Diagnostic._make((*fields, tuple(hints))) for *fields, hints in records]
