"""What differs between two versions of a file: as edits, and as a unified diff."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import Edit, Span
from namecheck.core.line_matcher import LineMatcher, length_in_common
from namecheck.editing.documents import Document

_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")
_QUOTED: Final = re.compile(rb"[\x00-\x1f\"\\\x7f]")
_ESCAPES: Final = {b"\n": b"\\n", b"\t": b"\\t", b'"': b'\\"', b"\\": b"\\\\"}


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
    front = length_in_common(old, new)
    back = length_in_common(old[front:][::-1], new[front:][::-1])
    at = Span(index + 1, front + 1, index + 1, len(old) - back + 1)
    return Edit(at, new[front : len(new) - back])


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

    A carriage return is part of a line, as in the tools that apply a diff.
    """
    old, new = (_LINE.findall(document.data) for document in (before, after))
    groups = [*LineMatcher(old, new).get_grouped_opcodes(context_lines)]
    if groups:
        yield b"--- " + _named(f"a/{name}")
        yield b"+++ " + _named(f"b/{name}")
    for group in groups:
        (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
        yield f"@@ -{_stretch(i, i_end)} +{_stretch(j, j_end)} @@".encode()
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                yield from _diff_rows(b" ", old[i:i_end])
            else:
                yield from _diff_rows(b"-", old[i:i_end])
                yield from _diff_rows(b"+", new[j:j_end])


def _named(path: str) -> bytes:
    """A path in the head of a diff: with a tab after blanks, or in quotes, as git has it.

    In quotes, so that no name ends its line and begins the changes of another file.
    """
    name = os.fsencode(path.replace(os.sep, "/"))
    quoted = _QUOTED.sub(lambda match: _ESCAPES.get(match[0], b"\\%03o" % ord(match[0])), name)
    if quoted != name:
        return b'"' + quoted + b'"'
    return name + (b"\t" if any(map(str.isspace, path)) else b"")


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
