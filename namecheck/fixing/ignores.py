"""Adds suppression comments for remaining findings: ``# namecheck: ignore[NC101]``."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence
from typing import Final

from namecheck.core.findings import Edit, Finding, Fix, Kind, Span, register
from namecheck.core.syntax import Refused, Source, Suppression
from namecheck.editing.documents import Document

_OF_COMMENTS: Final = ("NC010", "NC011")


def added(document: Document, findings: Sequence[Finding]) -> Fix | None:
    """The comments for these findings; None where no comment can suppress one of them."""
    try:
        source = document.source
    except Refused:
        return None
    codes: dict[int, dict[str, None]] = {}
    free = _Lines(source)
    for finding in findings:
        if register()[finding.code].kind is Kind.FILE or finding.code in _OF_COMMENTS:
            continue
        line = free.line(finding.span)
        if line is not None:
            codes.setdefault(line, {})[finding.code] = None
    edits = tuple(
        _edit(source, line, list(line_codes)) for line, line_codes in sorted(codes.items())
    )
    return Fix("Suppress it.", True, edits) if edits else None


class _Lines:
    """The lines of a file that a comment can be appended to."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._closed = set(_inside_strings(source.text))

    def line(self, span: Span) -> int | None:
        """The first line that is free, of those where a suppression of a finding is read."""
        first, last = self._source.statement_lines(span.line)
        numbers: list[int] = [*range(span.line, span.end_line + 1), last, first]
        for line in numbers:
            if line not in self._closed and not self._source.lines[line - 1].endswith("\\"):
                return line
        return None


def _inside_strings(text: str) -> Iterator[int]:
    """The lines that end inside a string."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING or tokenize.tok_name[token.type].startswith("FSTRING"):
            yield from range(token.start[0], token.end[0])


def _edit(source: Source, line: int, codes: list[str]) -> Edit:
    """The edit that adds codes to a line, in the existing brackets, if any."""
    there = next((one for one in source.suppressions if _is_on(one, line)), None)
    if there is not None and there.words is not None:
        end = there.span.end_column - 1
        at = Span(line, end, line, end)
        return Edit(at, "".join(f", {code}" for code in codes) if there.words else ", ".join(codes))
    text = source.lines[line - 1]
    end = len(text.rstrip()) + 1
    return Edit(Span(line, end, line, len(text) + 1), f"  # namecheck: ignore[{', '.join(codes)}]")


def _is_on(comment: Suppression, line: int) -> bool:
    return comment.span.line == line and comment.line == line
