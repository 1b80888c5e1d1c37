"""Filters findings about the removed API: none if a file of the run installs names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from namecheck.core.findings import Finding
from namecheck.core.installation import file_installs
from namecheck.project.tasks import Entry

REMOVED_API: Final = "NC701"


def reported(
    findings: Iterable[Finding], entries: Sequence[Entry], read: Callable[[str], bytes | None]
) -> tuple[Finding, ...]:
    """The findings, without those about the removed API if a file of the run installs it.

    The files are read only if there is such a finding.
    """
    every = tuple(findings)
    if not any(finding.code == REMOVED_API for finding in every):
        return every
    if any(file_installs(read(entry.location) or b"", entry.location) for entry in entries):
        return tuple(finding for finding in every if finding.code != REMOVED_API)
    return every
