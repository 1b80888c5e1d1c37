"""``github``: workflow commands, which GitHub shows as annotations of the changed lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from namecheck.core.findings import Finding, Kind, register
from namecheck.report.addresses import in_repository
from namecheck.report.formats import Format
from namecheck.report.frame import visible, visible_lines
from namecheck.report.listing import Listing

_LEVELS: Final = {
    Kind.FINDING: "error",
    Kind.FILE: "error",
    Kind.LINT: "warning",
    Kind.NOTE: "notice",
}


def commands(findings: Iterable[Finding]) -> Iterator[str]:
    """One workflow command a finding; GitHub looks files up from the root of the repository."""
    for finding in findings:
        code = register()[finding.code]
        span = finding.span
        properties = {
            "title": f"namecheck ({code.code})",
            "file": visible(in_repository(finding.filename)),
            "line": span.line,
            "endLine": span.end_line,
            "col": span.column,
        }
        if span.line == span.end_line:
            properties["endColumn"] = span.end_column
        head = ",".join(f"{key}={_escaped(str(value), True)}" for key, value in properties.items())
        place = f"{visible(finding.filename)}:{span.line}:{span.column}"
        text = "\n".join(visible_lines(finding.message))
        message = _escaped(f"{place}: {code.code} {code.name}: {text}", False)
        yield f"::{_LEVELS[code.kind]} {head}::{message}"


def _escaped(text: str, is_property: bool) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def _lines(listing: Listing) -> Iterator[str]:
    yield from commands(listing.findings)


FORMAT: Final = Format(_lines)
