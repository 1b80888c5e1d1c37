"""Edits of a document: stretches of its text and their replacements."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from namecheck.core.findings import Edit as Edit
from namecheck.core.findings import Span
from namecheck.editing.documents import Document


class Overlap(ValueError):
    """Two edits that change the same text."""


def ordered(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits in order, each once; raises `Overlap`. Insertions at one place keep their order."""
    result = tuple(sorted(dict.fromkeys(edits), key=lambda edit: edit.span))
    for before, after in pairwise(result):
        if before.span.end > after.span.start:
            raise Overlap(f"two edits overlap at line {after.span.line}")
    return result


def applied(document: Document, edits: Iterable[Edit]) -> Document:
    """The document with these edits applied.

    Nothing else changes: every line that no edit touches keeps its bytes, its line end too. Raises
    `Overlap`; `CannotWrite` where the file's encoding lacks a character.
    """
    lines = document.text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    parts: list[str] = []
    ends: list[str] = []
    done = done_line = 0
    for edit in ordered(edits):
        span = edit.span
        first, last = starts[span.line - 1] + span.column - 1, _offset(starts, span)
        parts += [document.text[done:first], edit.text]
        old = document.ends[span.line - 1 : span.end_line - 1]
        ends += document.ends[done_line : span.line - 1]
        ends += _line_ends(document, old, span.line - 1, edit.text.count("\n"))
        done, done_line = last, span.end_line - 1
    parts.append(document.text[done:])
    ends += document.ends[done_line:]
    text = "".join(parts)
    data = document.encoded(text, tuple(ends))
    return Document(document.location, data, document.encoding, text, tuple(ends))


def _line_ends(document: Document, old: tuple[str, ...], line: int, count: int) -> tuple[str, ...]:
    """Line ends for an edit with so many lines: those it replaces, then that of its first line."""
    here = document.ends[line] if line < len(document.ends) else document.newline
    return (*old[:count], *[here] * (count - len(old)))


def _offset(starts: list[int], span: Span) -> int:
    return starts[span.end_line - 1] + span.end_column - 1
