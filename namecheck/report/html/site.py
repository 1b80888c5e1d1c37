"""The pages of a report, as names and contents: a page for each file, and three overviews."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, Final

import jinja2
from markupsafe import Markup

from namecheck.core import regular_files
from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Finding, Kind, Place, Span, register
from namecheck.interpreter.workspace.inspection import Coverage, FunctionCoverage, Inspection
from namecheck.interpreter.workspace.statistics import Statistics
from namecheck.report.html.markup import Mark, Reference, SourceListing, escaped
from namecheck.report.wording import counted
from namecheck.version import VERSION

GENERATOR: Final = "namecheck report"
"""The name by which a page says who wrote it, in its first lines."""

PAGES: Final = "files"
ASSETS: Final = ("report.css", "report.js", "theme.js", "icon.svg")
PAGE_NAME: Final = re.compile(r"[a-z0-9-]+-[0-9a-f]{12}\.html")
"""The names of the pages of files."""

_HERE: Final = os.path.dirname(__file__)
_SLUG: Final = 60
_LOSSES: Final = 12
_EXCERPT: Final = 96
# The keyboard enters the source at its first expression, and goes on with arrows.
_SKIPPED: Final = ' class="x" tabindex="-1"'
_ENTERED: Final = ' class="x" tabindex="0"'
# A path that begins with a dash is no option, and one with a colon no scheme: all are hashed.
_UNSAFE: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be shown: its path for a reader, its text, what is known of its expressions.

    `inspection` is None where the file was not analysed.
    """

    path: str
    text: str
    inspection: Inspection | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def page(self) -> str:
        """The name of its page: the same in the next report, and different from all others."""
        return page_name(self.path)

    @property
    def coverage(self) -> Coverage:
        """The coverage of its names."""
        return Coverage() if self.inspection is None else self.inspection.coverage


@dataclass(frozen=True, slots=True)
class Run:
    """The files of a run, by their paths, and where their names are lost."""

    title: str
    files: Sequence[SourceFile]
    statistics: Statistics = Statistics()

    @property
    def findings(self) -> Iterator[tuple[SourceFile, Finding]]:
        """Every finding with its file."""
        return ((file, finding) for file in self.files for finding in file.findings)


def page_name(path: str) -> str:
    """``models-net-py-3fd21c…html`` for ``models/net.py``, whatever characters a path has."""
    digest = hashlib.sha256(path.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    slug = _UNSAFE.sub("-", path.lower())[-_SLUG:].strip("-")
    return f"{slug or 'file'}-{digest}.html"


class Site:
    """Renders the pages of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._files = {file.path: file for file in run.files}
        self._texts: dict[str, list[str]] = {}
        self._environment = _environment()
        self._incoming = _incoming(run)
        self._finding_count = sum(not is_note(finding) for _, finding in run.findings)

    def overviews(self) -> Iterator[tuple[str, str]]:
        """The pages of the whole run: the files, their functions, all findings."""
        run = self.run
        coverages = [file.coverage for file in run.files]
        functions = [
            (file, function)
            for file in run.files
            if file.inspection is not None
            for function in file.inspection.functions
        ]
        yield self._overview(
            "index.html",
            coverage=reduce(Coverage.joined, coverages, Coverage()),
            rows=sorted(run.files, key=_files_first),
            losses=run.statistics.worst(_LOSSES),
            limits=sorted(run.statistics.limits.items()),
            address=self._address,
        )
        yield self._overview("functions.html", rows=sorted(functions, key=_functions_first))
        yield self._overview("findings.html", groups=list(self._groups()))

    def listing(self, source_file: SourceFile) -> SourceListing:
        """The source of a file with its marks: its findings, and the places that findings name."""
        file_marks: list[Mark] = []
        references: list[Reference] = []
        for number, finding in enumerate(source_file.findings, 1):
            file_marks += _faults(finding, f"F{number}")
        for origin, other, number in self._incoming.get(source_file.path, ()):
            own = other.path == source_file.path
            file_marks.append(Mark(origin.span, False, f"F{number}" if own else ""))
            address = f"#F{number}" if own else f"{other.page}#F{number}"
            finding = other.findings[number - 1]
            place = f"line {finding.span.line}" if own else f"{other.path}:{finding.span.line}"
            label = f"{finding.code} {place}"
            references.append(Reference(origin.span.line, address, label, origin.message))
        expressions = () if source_file.inspection is None else source_file.inspection.expressions
        return SourceListing(source_file.text, expressions, file_marks, references)

    def page(self, source_file: SourceFile, rows: Sequence[str]) -> str:
        """The page of one file; `rows` are the lines of its listing as HTML."""
        template = self._environment.get_template("file.html")
        return template.render(
            self._shared(".."),
            file=source_file,
            blocks=list(self._blocks(source_file, rows)),
            focusable=bool(source_file.inspection and source_file.inspection.expressions),
        )

    def _blocks(self, source_file: SourceFile, rows: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The lines of a file up to a finding, and the findings there; at last the other lines."""
        by_line: dict[int, list[dict[str, Any]]] = {}
        for number, finding in enumerate(source_file.findings, 1):
            line = min(max(_last_line(finding), 1), len(rows))
            by_line.setdefault(line, []).append(self._card(source_file, finding, number))
        begin, first = 0, True
        for line, cards in [*sorted(by_line.items()), (len(rows), [])]:
            html = "".join(rows[begin:line])
            if first and _SKIPPED in html:
                html = html.replace(_SKIPPED, _ENTERED, 1)
                first = False
            yield {"lines": Markup(html), "cards": cards}
            begin = line

    def _card(self, source_file: SourceFile, finding: Finding, number: int) -> dict[str, Any]:
        """A finding for its template."""
        code = register()[finding.code]
        return {
            "id": f"F{number}",
            "code": code,
            "finding": finding,
            "operands": [
                (self._source(mark.filename, mark.span), mark.message) for mark in finding.marks
            ],
            "places": [self._place(source_file, places) for places in _by_line(finding.related)],
        }

    def _place(self, source_file: SourceFile, line_places: Sequence[Place]) -> dict[str, Any]:
        """Places on one line for the template: a link, what they say, and the line in pieces."""
        first = line_places[0]
        line = first.span.line
        other = self._files.get(first.filename)
        address = "" if other is source_file or other is None else other.page
        return {
            "address": None if other is None else f"{address}#L{line}",
            "where": f"line {line}" if other is source_file else f"{first.filename}:{line}",
            "messages": list(dict.fromkeys(place.message for place in line_places)),
            "pieces": _pieces(self._lines(first.filename), [place.span for place in line_places]),
        }

    def _source(self, path: str, span: Span) -> str:
        """The text of an expression, on one line."""
        rows = self._lines(path)[span.line - 1 : span.end_line]
        if not rows:
            return ""
        rows[-1] = rows[-1][: span.end_column - 1]
        rows[0] = rows[0][span.column - 1 :]
        return _short(" ".join(" ".join(rows).split()))

    def _lines(self, path: str) -> list[str]:
        if path not in self._texts:
            file = self._files.get(path)
            self._texts[path] = [] if file is None else file.text.split("\n")
        return self._texts[path]

    def _address(self, path: str, line: int) -> str:
        """The link from an overview to a line."""
        file = self._files.get(path)
        return "" if file is None else f"{PAGES}/{file.page}#L{line}"

    def _groups(self) -> Iterator[dict[str, Any]]:
        """The codes that were found, each with its findings."""
        finding_numbers: Counter[str] = Counter()
        by_code: dict[str, list[dict[str, Any]]] = {}
        for file, finding in self.run.findings:
            finding_numbers[file.path] += 1
            address = f"{PAGES}/{file.page}#F{finding_numbers[file.path]}"
            row = {"file": file, "finding": finding, "address": address}
            by_code.setdefault(finding.code, []).append(row)
        for code, rows in sorted(by_code.items()):
            yield {"code": register()[code], "rows": rows}

    def _overview(self, name: str, **context: Any) -> tuple[str, str]:
        template = self._environment.get_template(name)
        return name, template.render(self._shared("."), name=name, **context)

    def _shared(self, root: str) -> dict[str, Any]:
        return {
            "root": root,
            "run": self.run,
            "pages": PAGES,
            "generator": f"{GENERATOR} {VERSION}",
            "finding_count": self._finding_count,
        }


def _by_line(related: Sequence[Place]) -> Iterator[list[Place]]:
    """Places in groups: those that follow each other and are on one line."""
    for _, group in groupby(related, key=lambda place: (place.filename, place.span.line)):
        yield list(group)


def _pieces(rows: Sequence[str], spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """A line in pieces, each with whether it is marked; of a long line the part with the marks."""
    line = spans[0].line
    if not 1 <= line <= len(rows):
        return []
    row = rows[line - 1].rstrip()
    indent = len(row) - len(row.lstrip())
    ends = [span.end_column - 1 if span.end_line == line else len(row) for span in spans]
    marked = set().union(*(range(s.column - 1, end) for s, end in zip(spans, ends, strict=True)))
    begin, end = indent, len(row)
    if end - begin > _EXCERPT:
        begin = max(indent, min(min(marked, default=indent), end - _EXCERPT))
        end = min(begin + _EXCERPT, end)
    runs = groupby(range(begin, end), key=marked.__contains__)
    pieces = [("".join(row[column] for column in run), is_marked) for is_marked, run in runs]
    before, after = [("…", False)] * (begin > indent), [("…", False)] * (end < len(row))
    return [*before, *pieces, *after]


def is_note(finding: Finding) -> bool:
    """Whether a finding is no fault."""
    return register()[finding.code].kind is Kind.NOTE


def asset(name: str) -> bytes:
    """A file that all pages share."""
    return regular_files.contents(os.path.join(_HERE, "assets", name))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        finalize=_finished,
    )
    environment.filters.update(
        breakable=_breakable, counted=counted, percent=_percent, prose=_prose, spelled=_spelled
    )
    environment.tests["note"] = is_note
    return environment


def _finished(printed: object) -> Markup:
    """What a template prints: every text is escaped, its control characters visible."""
    return printed if isinstance(printed, Markup) else Markup(escaped(str(printed)))


def _template(name: str) -> str:
    return regular_files.contents(os.path.join(_HERE, "templates", name)).decode("utf-8")


def _prose(text: str) -> Markup:
    """The paragraphs of an explanation."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return Markup("\n".join(f"<p>{_spelled(paragraph)}</p>" for paragraph in paragraphs))


def _spelled(text: str) -> Markup:
    """A text with its words in backquotes as code."""
    parts = escaped(" ".join(text.split())).split("`")
    if len(parts) % 2 == 0:  # one backquote has no other
        parts[-2:] = ["`".join(parts[-2:])]
    spelled = [f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts)]
    return Markup("".join(spelled))


def _breakable(name: str) -> Markup:
    """A qualified name, which may go on in the next line after a dot or an underscore."""
    return Markup(re.sub(r"(?<=[._])(?=[^._])", "<wbr>", escaped(name)))


def _percent(coverage: Coverage) -> str:
    """The share of expressions with all names known, rounded down: 100 % are all of them."""
    return f"{100 * coverage.full // coverage.total} %"


def _short(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"


def _last_line(finding: Finding) -> int:
    """The line after which a finding is shown: the last one of its expression, if it is near."""
    ends = [finding.span.end_line, *(mark.span.end_line for mark in finding.marks)]
    near = [line for line in ends if line <= finding.span.line + 12]
    return max(near, default=finding.span.line)


def _faults(finding: Finding, id: str) -> Iterator[Mark]:
    """The marks of the expression: its operands, or the whole of it."""
    own = [mark for mark in finding.marks if mark.filename == finding.filename]
    for span in [mark.span for mark in own] or [finding.span]:
        yield Mark(span, True, id)


def _incoming(run: Run) -> dict[str, list[tuple[Place, SourceFile, int]]]:
    """The places that findings refer to, by file, each with the finding's own file and number."""
    incoming: dict[str, list[tuple[Place, SourceFile, int]]] = {}
    for file in run.files:
        for number, finding in enumerate(file.findings, 1):
            for place in finding.related:
                incoming.setdefault(place.filename, []).append((place, file, number))
    return incoming


def _files_first(source_file: SourceFile) -> tuple[int, int, str]:
    """Files with findings come first, then those with the most unknown names."""
    coverage = source_file.coverage
    faults = sum(not is_note(finding) for finding in source_file.findings)
    return -faults, coverage.full - coverage.total, source_file.path


def _functions_first(function_row: tuple[SourceFile, FunctionCoverage]) -> tuple[int, str, int]:
    """Functions with the most unknown names come first."""
    file, function = function_row
    coverage = function.coverage
    return coverage.full - coverage.total, file.path, function.line
