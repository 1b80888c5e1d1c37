"""The last lines of the output: the number of findings, and of files that were not parsed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from namecheck.core.findings import Finding, Kind, register
from namecheck.report.listing import Listing
from namecheck.report.wording import counted


def summary(findings: Sequence[Finding], accepted_count: int = 0) -> str:
    """The last line: the number of errors and notes in the number of files.

    `accepted_count` is the number of findings that are not reported, because a baseline has them.
    """
    notes = sum(_is_note(finding) for finding in findings)
    errors = len(findings) - notes
    accepted = (
        f" {counted(accepted_count, 'finding')} of the baseline not shown."
        if accepted_count
        else ""
    )
    if not errors:
        noted = f" {counted(notes, 'note')}." if notes else ""
        return f"All checks passed.{noted}{accepted}"
    files = len({finding.filename for finding in findings if not _is_note(finding)})
    also = f" and {counted(notes, 'note')}" if notes else ""
    return f"Found {counted(errors, 'error')}{also} in {counted(files, 'file')}.{accepted}"


def _is_note(finding: Finding) -> bool:
    return register()[finding.code].kind is Kind.NOTE


def closing(listing: Listing) -> Iterator[str]:
    """The summary, a hint about files that were not parsed, and the statistics."""
    paint = listing.paint
    if listing.summary:
        clean = all(map(_is_note, listing.findings))
        yield paint("good" if clean else "bold", listing.summary)
    if listing.unparsed:
        files = counted(listing.unparsed, "file")
        yield (
            f"{files} that name no dimension were not parsed, as the tree is large: "
            "--syntax all parses them too."
        )
    if listing.statistics is not None:
        from namecheck.report import statistics

        yield ""
        yield from statistics.as_text(listing.statistics, listing.file_count, paint)
