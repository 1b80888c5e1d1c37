"""``rdjson``: the Reviewdog Diagnostic Format, which reviewdog posts as comments of a review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from namecheck.core.findings import Edit, Finding, Fix, Kind, Span, register
from namecheck.report.changes import merged
from namecheck.report.formats import Format
from namecheck.report.formats.json import strict_text
from namecheck.report.listing import Listing

_SEVERITIES: Final = {
    Kind.FINDING: "ERROR",
    Kind.FILE: "ERROR",
    Kind.LINT: "WARNING",
    Kind.NOTE: "INFO",
}

# A reviewer applies a suggestion with a click, beside the lines that it changes.
_LONGEST_SUGGESTION: Final = 12


def _diagnostic(finding: Finding, lines: Sequence[str], fix: Fix | None) -> dict[str, Any]:
    code = register()[finding.code]
    diagnostic: dict[str, Any] = {
        "message": f"{code.name}: {finding.message}"
        + (f"\n{finding.help}" if finding.help else ""),
        "location": {"path": finding.filename, "range": _range(finding.span, lines)},
        "severity": _SEVERITIES[code.kind],
        "code": {"value": code.code},
    }
    if fix is not None:
        edit = merged(fix.edits, lines)
        if edit.span.end_line - edit.span.line < _LONGEST_SUGGESTION:
            diagnostic["suggestions"] = [_suggestion(edit, lines)]
    return diagnostic


def _suggestion(edit: Edit, lines: Sequence[str]) -> dict[str, Any]:
    return {"range": _range(edit.span, lines), "text": edit.text}


def _range(span: Span, lines: Sequence[str]) -> dict[str, Any]:
    """The format counts columns in bytes of UTF-8."""
    return {
        "start": {"line": span.line, "column": _column(*span.start, lines)},
        "end": {"line": span.end_line, "column": _column(*span.end, lines)},
    }


def _column(line: int, column: int, lines: Sequence[str]) -> int:
    if not 0 < line <= len(lines):
        return column
    return len(lines[line - 1][: column - 1].encode("utf-8", "surrogatepass")) + 1


def _lines(listing: Listing) -> Iterator[str]:
    diagnostics = [
        _diagnostic(finding, listing.reader(finding.filename), listing.fixes.get(finding))
        for finding in listing.findings
    ]
    yield strict_text({"source": {"name": "namecheck"}, "diagnostics": diagnostics})


FORMAT: Final = Format(_lines, fix_budget=1_600_000)
