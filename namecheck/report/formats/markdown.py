"""``markdown``: a table of the findings, for the summary of a job or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import register
from namecheck.report.addresses import place
from namecheck.report.formats import Format
from namecheck.report.frame import visible
from namecheck.report.listing import Listing

# Services limit the size of a summary.
_MOST: Final = 200
_MARKUP: Final = r"[\\`*_{}\[\]<>#|~&@$]"


def _escaped(text: str) -> str:
    """A text without markup, on one line."""
    return re.sub(_MARKUP, lambda mark: f"\\{mark[0]}", visible(" ".join(text.split())))


def _lines(listing: Listing) -> Iterator[str]:
    yield f"### namecheck: {listing.summary}" if listing.summary else "### namecheck"
    findings = listing.findings[:_MOST]
    if findings:
        yield from ("", "| place | code | message |", "| --- | --- | --- |")
    for finding in findings:
        code = register()[finding.code]
        cells = place(finding.filename, finding.span), f"{code.code} {code.name}", finding.message
        yield f"| {' | '.join(map(_escaped, cells))} |"
    if len(listing.findings) > _MOST:
        yield from ("", f"{len(listing.findings) - _MOST:,} more are not listed.")


FORMAT: Final = Format(_lines)
