"""``concise``: one line a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from namecheck.core.findings import Finding, register
from namecheck.report import frame
from namecheck.report.closing import closing
from namecheck.report.formats import Format
from namecheck.report.listing import Listing
from namecheck.report.painter import Painter


def rows(findings: Iterable[Finding], paint: Painter) -> Iterator[str]:
    """One line a finding: place, code, name and message."""
    for finding in findings:
        code = register()[finding.code]
        place = f"{finding.filename}:{finding.span.line}:{finding.span.column}"
        message = " ".join(finding.message.split())
        label = paint(code.kind.value, f"{code.code} {code.name}")
        yield f"{paint('bold', frame.visible(place))}: {label}: {frame.visible(message)}"


def _lines(listing: Listing) -> Iterator[str]:
    yield from rows(listing.findings, listing.paint)
    yield from closing(listing)


FORMAT: Final = Format(_lines)
