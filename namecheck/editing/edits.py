"""Edits of a document: stretches of its text and their replacements."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from namecheck.core.findings import Edit as Edit
from namecheck.core.findings import Span
from namecheck.core.line_matcher import LineMatcher
from namecheck.editing.documents import Document

_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")


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


def difference(before: Document, after: Document) -> tuple[Edit, ...]:
    """Edits that turn one text into another; in each changed line only the differing part."""
    old, new = (document.text.split("\n") for document in (before, after))
    edits: list[Edit] = []
    for tag, i, i_end, j, j_end in LineMatcher(old, new).get_opcodes():
        if tag == "replace" and i_end - i == j_end - j:
            edits += map(_changed, range(i, i_end), old[i:i_end], new[j:j_end])
        elif tag != "equal":
            edits.append(_block(old, i, i_end, new[j:j_end]))
    return tuple(edits)


def _changed(index: int, old: str, new: str) -> Edit:
    """The edit of one line, between the common prefix and the common suffix."""
    front = _in_common(old, new)
    back = _in_common(old[front:][::-1], new[front:][::-1])
    at = Span(index + 1, front + 1, index + 1, len(old) - back + 1)
    return Edit(at, new[front : len(new) - back])


def _in_common(one: str, another: str) -> int:
    """The length of the common prefix."""
    pairs = enumerate(zip(one, another, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(another)))


def _block(old_lines: list[str], first: int, last: int, fresh_lines: list[str]) -> Edit:
    """The edit of whole lines; after the last line of a text there is no line end."""
    if last < len(old_lines):
        return Edit(Span(first + 1, 1, last + 1, 1), "".join(f"{line}\n" for line in fresh_lines))
    before = Span(first, len(old_lines[first - 1]) + 1, last, len(old_lines[last - 1]) + 1)
    return Edit(before, "".join(f"\n{line}" for line in fresh_lines))


def unified(
    before: Document, after: Document, name: str, context_lines: int = 3
) -> Iterator[bytes]:
    """A unified diff of the bytes of a file, line by line, without the ``\\n`` that ends each.

    A carriage return is part of a line, as in the tools that apply a diff; so is the tab after a
    file name with blanks.
    """
    old, new = (_LINE.findall(document.data) for document in (before, after))
    groups = [*LineMatcher(old, new).get_grouped_opcodes(context_lines)]
    if groups:
        ending = b"\t" if any(map(str.isspace, name)) else b""
        yield os.fsencode(f"--- a/{name}") + ending
        yield os.fsencode(f"+++ b/{name}") + ending
    for group in groups:
        (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
        yield f"@@ -{_stretch(i, i_end)} +{_stretch(j, j_end)} @@".encode()
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                yield from _diff_rows(b" ", old[i:i_end])
            else:
                yield from _diff_rows(b"-", old[i:i_end])
                yield from _diff_rows(b"+", new[j:j_end])


def _diff_rows(sign: bytes, byte_lines: list[bytes]) -> Iterator[bytes]:
    for line in byte_lines:
        yield sign + line.removesuffix(b"\n")
        if not line.endswith(b"\n"):
            yield b"\\ No newline at end of file"


def _stretch(begin: int, end: int) -> str:
    """Where some lines are, as a unified diff says it; of no lines, after which line."""
    if end - begin == 1:
        return f"{begin + 1}"
    return f"{begin + (begin < end)},{end - begin}"


def _offset(starts: list[int], span: Span) -> int:
    return starts[span.end_line - 1] + span.end_column - 1
