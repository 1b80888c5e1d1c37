"""The source lines of a finding, with its labels drawn under them.

::

      |
    3 | logits = torch.zeros(8, 8, names=("batch", "cls"))
      |                                            ----- 'cls' is named here
    4 | weight = torch.ones(8, names=("batch",))
      |                               ------- 'batch' is named here
    5 | loss = logits * weight
      |        ^^^^^^   ^^^^^^ batch
      |        |
      |        batch cls
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.findings import Span

WIDTH: Final = 120
"""The number of columns shown of one line; of a longer one the relevant part."""

_TAB: Final = 4
_LEAD: Final = 24

Paint = Callable[[str, str], str]
"""Puts the colour of a role (``gutter``, ``primary``, ``secondary``) on a text."""


@dataclass(frozen=True, slots=True)
class Label:
    """A stretch of source with a message; `primary` labels mark the fault itself."""

    span: Span
    text: str = ""
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Stroke:
    """A label on one line, in display columns from 0."""

    start: int
    end: int
    text: str
    primary: bool

    @property
    def role(self) -> str:
        """The role that decides its colour."""
        return "primary" if self.primary else "secondary"


def frame(lines: Sequence[str], labels: Iterable[Label], gutter: int, paint: Paint) -> list[str]:
    """The rows that show the labelled lines of one file; `gutter` is the width of line numbers."""
    by_line: dict[int, list[Label]] = {}
    for label in _merged(labels):
        if 1 <= label.span.line <= len(lines):
            by_line.setdefault(label.span.line, []).append(label)
    bar = paint("gutter", " " * gutter + " |")
    rows = [bar]
    for number, before in _with_gaps(sorted(by_line)):
        if before is None:
            rows.append(paint("gutter", "." * max(gutter, 3)))
        shown = _Line(lines[number - 1], by_line.get(number, ()))
        rows.append(f"{paint('gutter', f'{number:>{gutter}} |')} {shown.text}".rstrip())
        rows += [f"{bar} {row}" for row in _strokes(shown.strokes, paint)]
    return rows


def _merged(labels: Iterable[Label]) -> Iterator[Label]:
    """Labels with the same span, merged."""
    by_span: dict[Span, list[Label]] = {}
    for label in labels:
        by_span.setdefault(label.span, []).append(label)
    for span, group in by_span.items():
        texts = dict.fromkeys(label.text for label in group if label.text)
        yield Label(span, ", ".join(texts), any(label.primary for label in group))


def _with_gaps(numbers: Sequence[int]) -> Iterator[tuple[int, int | None]]:
    """Line numbers, each with the one before it; None after a gap. A gap of one line is filled."""
    for index, number in enumerate(numbers):
        before = numbers[index - 1] if index else number - 1
        if number - before == 2:
            yield number - 1, before
            before = number - 1
        yield number, before if number - before <= 1 else None


class _Line:
    """One line of source for display: tabs expanded, wide letters counted, a window cut out."""

    def __init__(self, source: str, labels: Iterable[Label]) -> None:
        pieces = _pieces(source)
        edges = [0]
        for piece, width in pieces:
            edges.append(edges[-1] + (width if piece != "\t" else _TAB - edges[-1] % _TAB))
        strokes = [_stroke(label, source, edges) for label in labels]
        first, last = self._window(edges, strokes)
        left, right = edges[first], edges[last]
        text = "".join(
            piece if piece != "\t" else " " * (edges[index + 1] - edges[index])
            for index, (piece, _) in enumerate(pieces[first:last], first)
        )
        before, after = "…" if first else "", "…" if last < len(pieces) else ""
        self.text = f"{before}{text}{after}"
        self.strokes = [
            replace(
                stroke,
                start=max(stroke.start - left, 0) + len(before),
                end=max(min(stroke.end, right) - left, 1) + len(before),
            )
            for stroke in strokes
            if stroke.start <= right and stroke.end >= left
        ]

    def _window(self, edges: list[int], strokes: list[Stroke]) -> tuple[int, int]:
        if edges[-1] <= WIDTH:
            return 0, len(edges) - 1
        wanted = min((stroke.start for stroke in strokes), default=0)
        if wanted + _LEAD < WIDTH:
            wanted = 0
        left = max(wanted - _LEAD, 0)
        first = next(index for index, edge in enumerate(edges) if edge >= left)
        last = max(index for index, edge in enumerate(edges) if edge <= edges[first] + WIDTH)
        return first, last


def _stroke(label: Label, source: str, edges: list[int]) -> Stroke:
    span = label.span
    start = min(span.column - 1, len(source))
    end = span.end_column - 1 if span.end_line == span.line else len(source.rstrip())
    end = max(min(end, len(source)), start)
    return Stroke(edges[start], max(edges[end], edges[start] + 1), label.text, label.primary)


def visible(text: str) -> str:
    """A text without characters that control the terminal or reorder the line."""
    return "".join(piece if piece != "\t" else " " for piece, _ in _pieces(text))


def visible_lines(text: str) -> list[str]:
    """The lines of a text, each made `visible`."""
    return [visible(line) for line in text.split("\n")]


def width_of(text: str) -> int:
    """The number of columns of a text."""
    return len(text) if text.isascii() else sum(width for _, width in _pieces(text))


def _pieces(text: str) -> list[tuple[str, int]]:
    """Every character for display, with its columns; a tab stays a tab."""
    return [(letter, 1) if " " <= letter <= "~" else _piece(letter) for letter in text]


def _piece(letter: str) -> tuple[str, int]:
    if letter == "\t":
        return letter, 1
    if ord(letter) < 32:
        return chr(0x2400 + ord(letter)), 1
    if unicodedata.category(letter) in ("Mn", "Me"):
        return letter, 0
    if not letter.isprintable():
        shown = f"<U+{ord(letter):04X}>"
        return shown, len(shown)
    return letter, 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _strokes(strokes: Sequence[Stroke], paint: Paint) -> Iterator[str]:
    """The row of carets, with the rightmost label after it and the others below."""
    ordered = sorted(strokes, key=lambda stroke: (stroke.start, -stroke.end))
    if not ordered:
        return
    carets = _Row(paint)
    for stroke in sorted(ordered, key=lambda stroke: stroke.primary):
        sign = "^" if stroke.primary else "-"
        carets.put(stroke.start, sign * (stroke.end - stroke.start), stroke.role)
    last = ordered[-1]
    hanging = [stroke for stroke in ordered if stroke.text]
    if last.text and all(stroke.end <= last.end for stroke in ordered):
        carets.put(last.end + 1, last.text, last.role)
        hanging.remove(last)
    yield carets.show()
    if hanging:
        yield _connectors(hanging, paint).show()
    while hanging:
        yield _hung(hanging, paint)


def _connectors(strokes: Iterable[Stroke], paint: Paint) -> _Row:
    row = _Row(paint)
    for stroke in strokes:
        row.put(stroke.start, "|", stroke.role)
    return row


def _hung(hanging: list[Stroke], paint: Paint) -> str:
    """One row of labels, taken from the right of `hanging` while they fit."""
    taken = [hanging.pop()]
    while hanging and hanging[-1].start + width_of(hanging[-1].text) + 2 <= taken[-1].start:
        taken.append(hanging.pop())
    row = _connectors(hanging, paint)
    for stroke in taken:
        row.put(stroke.start, stroke.text, stroke.role)
    return row.show()


class _Row:
    """Characters at columns, each with the colour of its role."""

    def __init__(self, paint: Paint) -> None:
        self._paint = paint
        self._cells: dict[int, tuple[str, str]] = {}

    def put(self, column: int, text: str, role: str) -> None:
        """Write a text from a column on, over existing characters."""
        for piece, width in _pieces(text):
            self._cells[column] = (piece, role)
            for beyond in range(column + 1, column + width):
                self._cells[beyond] = ("", role)
            column += width

    def show(self) -> str:
        """The row as text, with blanks in the gaps."""
        parts: list[str] = []
        columns = sorted(self._cells)
        run, role = "", ""
        for before, column in pairwise([-1, *columns]):
            piece, own = self._cells[column]
            gap = " " * (column - before - 1)
            if gap or own != role:
                parts.append(self._paint(role, run) if run else "")
                parts.append(gap)
                run, role = "", own
            run += piece
        parts.append(self._paint(role, run) if run else "")
        return "".join(parts)


def widest(label_groups: Mapping[str, Sequence[Label]]) -> int:
    """The number of digits of the largest line number."""
    numbers = [label.span.line for group in label_groups.values() for label in group]
    return len(str(max(numbers, default=1)))
