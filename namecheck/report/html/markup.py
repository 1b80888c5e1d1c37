"""Lines of source as HTML: words, tensor expressions and marked places, each in its element.

Every text goes through `escaped`; nothing of a program, a path or a message is markup.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from namecheck.core.findings import Span
from namecheck.interpreter.workspace.inspection import Knowledge, TensorExpression
from namecheck.report.frame import visible
from namecheck.report.html.highlighting import Piece, pieces_by_line

SCALAR: Final = "(no dimension)"

# Browsers flatten deeper elements: of a sum of a thousand terms the inner ones are not shown.
_DEEPEST: Final = 40
# Of an expression over more lines, the first ones are marked.
_TALLEST: Final = 200
_ESCAPES: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
)
_ORDER: Final = (Knowledge.NONE, Knowledge.PART, Knowledge.FULL)


class Mark(NamedTuple):
    """A marked place: a fault, or the origin of a name; `finding` is the id of its element."""

    span: Span
    is_fault: bool
    finding: str


class Reference(NamedTuple):
    """A link at the end of a line, to a finding that a name on this line leads to."""

    line: int
    address: str
    label: str
    message: str


class SourceListing(NamedTuple):
    """A file to be shown: its text, and what is to be marked and linked in it."""

    text: str
    expressions: Sequence[TensorExpression] = ()
    marks: Sequence[Mark] = ()
    references: Sequence[Reference] = ()


class _Stretch(NamedTuple):
    """The part of a span on one line: its columns, from 0, and the number of the span."""

    start: int
    end: int
    number: int


def escaped(text: str) -> str:
    """A text for HTML, between tags or in quotes, its control characters visible."""
    if not text.isprintable():
        text = "\t".join(map(visible, text.split("\t")))
    return text.translate(_ESCAPES)


def lines(listing: SourceListing) -> list[str]:
    """Each line of a file as one element, with the id ``L`` and its number."""
    text, expressions, marks, references = listing
    every = pieces_by_line(text)
    if not every[-1] and len(every) > 1:
        every.pop()  # the text ends with a line end
    lengths = [sum(len(part) for part, _ in pieces) for pieces in every]
    parts = _parts([one.span for one in expressions], text)
    marked = _parts([mark.span for mark in marks], text)
    tags = [_tag(number, expression) for number, expression in enumerate(expressions)]
    references_by_line: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for reference in references:
        references_by_line[reference.line].setdefault(reference.address, _link(reference))
    ends = _line_ends(expressions)
    rows = []
    for number, pieces in enumerate(every, 1):
        here, chosen = parts.get(number), marked.get(number)
        if here or chosen:
            woven = _woven(pieces, lengths[number - 1], here or [], tags, chosen or [], marks)
        else:
            woven = "".join([_word(part, name) for part, name in pieces])
        known = _least(expressions[stretch.number].knowledge for stretch in here) if here else ""
        written = [f'<div class="l{known}" id="L{number}"']
        if number in ends:
            written.append(f' data-i="{escaped(ends[number])}"')
        written.append(f'><a class="n" href="#L{number}" tabindex="-1">{number}</a>')
        written.append(f"<code>{woven}</code>")
        written += references_by_line[number].values() if number in references_by_line else ()
        rows.append("".join([*written, "</div>\n"]))
    return rows


def _word(part: str, name: str) -> str:
    return f'<span class="{name}">{escaped(part)}</span>' if name else escaped(part)


def _link(reference: Reference) -> str:
    return (
        f'<a class="ref" href="{escaped(reference.address)}" title="{escaped(reference.message)}">'
        f"{escaped(reference.label)}</a>"
    )


def _tag(number: int, expression: TensorExpression) -> str:
    """The start of the element of an expression.

    It has the dims, the attributes, a number if its parts are on several lines, and whether the
    expression may be something else than a tensor.
    """
    dims = " | ".join(dims or SCALAR for dims in expression.dims)
    attributes = f' data-a="{escaped(", ".join(expression.attributes))}"'
    several = f' data-e="{number}"' if expression.span.line != expression.span.end_line else ""
    return (
        f'<span class="x" tabindex="-1" data-d="{escaped(dims)}"'
        f"{attributes if expression.attributes else ''}{several}"
        f"{'' if expression.always else ' data-o'}>"
    )


def _least(knowledge: Iterable[Knowledge]) -> str:
    """The class of a line: what is known least among its expressions."""
    return f" {_ORDER[min(map(_ORDER.index, knowledge))].value}"


def _line_ends(expressions: Iterable[TensorExpression]) -> dict[int, str]:
    """The dims to be read at the ends of lines: of what the statement there assigns or returns."""
    return {
        one.span.line: " | ".join(dims or SCALAR for dims in one.dims)
        for one in expressions
        if one.result and one.knowledge is not Knowledge.NONE
    }


def _parts(spans: Iterable[Span], text: str) -> Mapping[int, list[_Stretch]]:
    """The spans line by line, without the indentation of their later lines."""
    source = text.split("\n")
    by_line: defaultdict[int, list[_Stretch]] = defaultdict(list)
    for number, span in enumerate(spans):
        for line in range(span.line, min(span.end_line, span.line + _TALLEST, len(source)) + 1):
            row = source[line - 1]
            start = span.column - 1 if line == span.line else len(row) - len(row.lstrip())
            end = span.end_column - 1 if line == span.end_line else len(row)
            by_line[line].append(_Stretch(start, min(end, len(row)), number))
    return by_line


def _nested(stretches: Iterable[_Stretch]) -> Iterator[_Stretch]:
    """The stretches that contain each other or are apart; the positions in f-strings may cross."""
    around: list[int] = []
    for stretch in sorted(stretches, key=lambda stretch: (stretch.start, -stretch.end)):
        while around and around[-1] <= stretch.start:
            around.pop()
        crosses = around and stretch.end > around[-1]
        if stretch.start < stretch.end and not crosses and len(around) < _DEEPEST:
            around.append(stretch.end)
            yield stretch


def _woven(
    line_pieces: Iterable[Piece],
    line_length: int,
    stretches: Iterable[_Stretch],
    tags: Sequence[str],
    marked: Sequence[_Stretch],
    file_marks: Sequence[Mark],
) -> str:
    """One line with the elements of its expressions and its marked places."""
    opening: defaultdict[int, list[str]] = defaultdict(list)
    closing: defaultdict[int, int] = defaultdict(int)
    for stretch in _nested(stretches):
        opening[stretch.start].append(tags[stretch.number])
        closing[stretch.end] += 1
    edges = sorted(
        {*opening, *closing, *(edge for stretch in marked for edge in (stretch.start, stretch.end))}
    )
    written: list[str] = []
    column = 0
    for text, name in line_pieces:
        end = column + len(text)
        inner = edges[bisect_right(edges, column) : bisect_left(edges, end)]
        for left, right in zip([column, *inner], [*inner, end], strict=True):
            written.append("</span>" * closing.get(left, 0))
            written += opening.get(left, ())
            covering = [
                file_marks[stretch.number]
                for stretch in marked
                if stretch.start <= left < stretch.end
            ]
            written.append(_marked(text[left - column : right - column], name, covering))
        column = end
    written.append("</span>" * closing.get(column, 0))
    beyond = [file_marks[stretch.number] for stretch in marked if stretch.start >= line_length]
    if beyond:  # Python's syntax errors may be behind the end of a line
        written.append(_marked(" ", "", beyond))
    return "".join(written)


def _marked(text: str, name: str, covering: Iterable[Mark]) -> str:
    names = [name] if name else []
    ids: dict[str, None] = {}
    for mark in covering:
        names.append("fault" if mark.is_fault else "origin")
        if mark.finding:
            ids[mark.finding] = None
    if not names:
        return escaped(text)
    shown = f' data-f="{" ".join(ids)}"' if ids else ""
    return f'<span class="{" ".join(dict.fromkeys(names))}"{shown}>{escaped(text)}</span>'
