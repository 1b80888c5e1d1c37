"""``gitlab``: a report for GitLab's code quality, which merge requests show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from namecheck.core.findings import Finding, Kind, register
from namecheck.core.fingerprints import identities
from namecheck.report.addresses import in_repository
from namecheck.report.formats import Format
from namecheck.report.formats.json import strict_text
from namecheck.report.listing import Listing

_SEVERITIES: Final = {
    Kind.FINDING: "major",
    Kind.FILE: "major",
    Kind.LINT: "minor",
    Kind.NOTE: "info",
}


def _issue(finding: Finding, fingerprint: str) -> dict[str, Any]:
    code = register()[finding.code]
    span = finding.span
    return {
        "description": f"{code.code} {code.name}: {finding.message}",
        "check_name": code.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[code.kind],
        "location": {
            "path": in_repository(finding.filename),
            "lines": {"begin": span.line, "end": span.end_line},
        },
    }


def _lines(listing: Listing) -> Iterator[str]:
    """An array of objects; GitLab wants fingerprints that differ in the whole repository."""
    by_finding = identities(listing.findings, listing.reader, in_repository)
    issues = [_issue(finding, by_finding[finding].fingerprint) for finding in listing.findings]
    yield strict_text(issues)


FORMAT: Final = Format(_lines)
