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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.findings import Span
from namecheck.report.painter import Painter

WIDTH: Final = 120
"""The number of columns shown of one line where there is no terminal; of a longer one a part."""

_TAB: Final = 4
_LEAD: Final = 24
# On a terminal that is narrower still, lines wrap.
_NARROWEST: Final = 20


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


def frame(lines: Sequence[str], labels: Iterable[Label], gutter: int, paint: Painter) -> list[str]:
    """The rows that show the labelled lines of one file; `gutter` is the width of line numbers.

    Of a line that is longer than the terminal the part around the fault is shown, and a part for
    each label that does not fit beside it.
    """
    by_line: dict[int, list[Label]] = {}
    for label in _merged(labels):
        if 1 <= label.span.line <= len(lines):
            by_line.setdefault(label.span.line, []).append(label)
    bar = paint("gutter", " " * gutter + " |")
    rows = [bar]
    for number, before in _with_gaps(sorted(by_line)):
        if before is None:
            rows.append(paint("gutter", "." * max(gutter, 3)))
        for excerpt in _excerpts(lines[number - 1], by_line.get(number, ()), room(gutter, paint)):
            rows.append(f"{paint('gutter', f'{number:>{gutter}} |')} {excerpt.text}".rstrip())
            most = None if paint.columns is None else room(gutter, paint)
            rows += [f"{bar} {row}" for row in _strokes(excerpt.strokes, most, paint)]
    return rows


def room(gutter: int, paint: Painter) -> int:
    """The number of columns for a line of source beside its number."""
    return WIDTH if paint.columns is None else max(paint.columns - gutter - 3, _NARROWEST)


def noted(head: str, text: str, gutter: int, paint: Painter) -> Iterator[str]:
    """A remark under a finding, with its head in colour; its further lines are indented."""
    indent = " " * gutter
    beside = len(f"{indent}         ")
    columns = None if paint.columns is None else paint.columns - beside
    first, *rest = text.split("\n")
    taken = len(f"{indent} = {head}: ") - beside
    begun, *more = folded(visible(first), columns, taken)
    yield f"{indent} {paint('gutter', '=')} {paint('help', head)}: {begun}"
    for line in (*more, *(part for one in rest for part in folded(visible(one), columns))):
        yield f"{indent}         {line}"


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


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """A part of a line of source, and the labels in it."""

    text: str
    strokes: Sequence[Stroke]


def _excerpts(source: str, labels: Iterable[Label], width: int) -> Iterator[_Excerpt]:
    """One line for display: tabs expanded, wide letters counted, the relevant parts cut out."""
    pieces = _pieces(source)
    edges = [0]
    for piece, columns in pieces:
        edges.append(edges[-1] + (columns if piece != "\t" else _TAB - edges[-1] % _TAB))
    texts = [
        piece if piece != "\t" else " " * (edges[index + 1] - edges[index])
        for index, (piece, _) in enumerate(pieces)
    ]
    strokes = [_stroke(label, source, edges) for label in labels]
    if edges[-1] <= width:
        yield _Excerpt("".join(texts), strokes)
        return
    breadth = width - 2  # between two ellipses
    for shown in _shares(strokes, breadth) or [[]]:
        first, last = _window(edges, shown, breadth)
        left, right = edges[first], edges[last]
        before, after = "…" if first else "", "…" if last < len(pieces) else ""
        shift = len(before) - left
        yield _Excerpt(
            f"{before}{''.join(texts[first:last])}{after}",
            [
                replace(
                    stroke,
                    start=stroke.start + shift,
                    end=max(min(stroke.end, right), stroke.start + 1) + shift,
                )
                for stroke in shown
            ],
        )


def _shares(strokes: Sequence[Stroke], breadth: int) -> list[list[Stroke]]:
    """The labels that fit into one part of a line, from left to right; first around the fault."""
    pending = sorted(strokes, key=lambda stroke: (not stroke.primary, stroke.start))
    shares: list[list[Stroke]] = []
    while pending:
        nearby = [pending.pop(0)]
        for stroke in [*pending]:
            start = min(stroke.start, *(one.start for one in nearby))
            end = max(stroke.end, *(one.end for one in nearby))
            if end - start <= breadth:
                nearby.append(stroke)
                pending.remove(stroke)
        shares.append(nearby)
    return sorted(shares, key=lambda nearby: min(stroke.start for stroke in nearby))


def _window(edges: list[int], strokes: Sequence[Stroke], breadth: int) -> tuple[int, int]:
    """The first and the last edge of the part of a line that shows some labels."""
    start = min((stroke.start for stroke in strokes), default=0)
    end = max((stroke.end for stroke in strokes), default=0)
    left = 0 if end <= breadth else max(start - min(_LEAD, max(breadth - (end - start), 0)), 0)
    first = next(index for index, edge in enumerate(edges) if edge >= left)
    if edges[first] > start:
        first -= 1
    last = max(index for index, edge in enumerate(edges) if edge <= edges[first] + breadth)
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


def folded(text: str, columns: int | None, used: int = 0) -> list[str]:
    """A text in lines of at most so many columns, the first after as many as are `used`."""
    if columns is None or width_of(text) <= columns - used:
        return [text]
    lines, line, free = [], "", max(columns - used, _NARROWEST)
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if line and width_of(joined) > free:
            lines.append(line)
            joined, free = word, max(columns, _NARROWEST)
        while width_of(joined) > free:
            cut = next(n for n in range(len(joined), 0, -1) if width_of(joined[:n]) <= free)
            lines.append(joined[:cut])
            joined, free = joined[cut:], max(columns, _NARROWEST)
        line = joined
    return [*lines, line]


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


def _strokes(strokes: Sequence[Stroke], width: int | None, paint: Painter) -> Iterator[str]:
    """The row of carets, with the rightmost label after it and the others below."""
    ordered = sorted(strokes, key=lambda stroke: (stroke.start, -stroke.end))
    if not ordered:
        return
    carets = _Row(paint)
    for stroke in sorted(ordered, key=lambda stroke: stroke.primary):
        sign = "^" if stroke.primary else "-"
        carets.write(stroke.start, sign * (stroke.end - stroke.start), stroke.role)
    last = ordered[-1]
    hanging = [stroke for stroke in ordered if stroke.text]
    fits = width is None or last.end + 1 + width_of(last.text) <= width
    if last.text and fits and all(stroke.end <= last.end for stroke in ordered):
        carets.write(last.end + 1, last.text, last.role)
        hanging.remove(last)
    yield carets.show()
    if hanging:
        yield _connectors(hanging, paint).show()
    while hanging:
        if width is not None and hanging[-1].start + width_of(hanging[-1].text) > width:
            yield from _shifted(hanging, width, paint)
        else:
            yield _hung(hanging, paint)


def _connectors(strokes: Iterable[Stroke], paint: Painter) -> _Row:
    row = _Row(paint)
    for stroke in strokes:
        row.write(stroke.start, "|", stroke.role)
    return row


def _hung(hanging: list[Stroke], paint: Painter) -> str:
    """One row of labels, taken from the right of `hanging` while they fit."""
    taken = [hanging.pop()]
    while hanging and hanging[-1].start + width_of(hanging[-1].text) + 2 <= taken[-1].start:
        taken.append(hanging.pop())
    row = _connectors(hanging, paint)
    for stroke in taken:
        row.write(stroke.start, stroke.text, stroke.role)
    return row.show()


def _shifted(hanging: list[Stroke], width: int, paint: Painter) -> Iterator[str]:
    """The rightmost label of `hanging`, which does not fit where it begins: more to the left."""
    stroke = hanging.pop()
    column = max(min(stroke.start, width - width_of(stroke.text)), 0)
    for line in folded(stroke.text, width):
        row = _connectors((one for one in hanging if one.start < column), paint)
        row.write(column, line, stroke.role)
        yield row.show()


class _Row:
    """Characters at columns, each with the colour of its role."""

    def __init__(self, paint: Painter) -> None:
        self._paint = paint
        self._cells: dict[int, tuple[str, str]] = {}

    def write(self, column: int, text: str, role: str) -> None:
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
