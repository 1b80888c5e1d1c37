"""Whether a program puts names on torch: then what uses them is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from namecheck.core.findings import Finding
from namecheck.project.tasks import Entry

REMOVED_API: Final = "NC701"
_INSTALLS: Final = re.compile(rb"namecheck\b[^\n]*\b(?:install|runtime)\b")


def warranted(
    findings: Iterable[Finding], entries: Sequence[Entry], read: Callable[[str], bytes | None]
) -> tuple[Finding, ...]:
    """The findings, without those of the removed API where a file of the run puts it back."""
    kept = tuple(findings)
    if not any(finding.code == REMOVED_API for finding in kept):
        return kept
    if any(installs(read(entry.location) or b"") for entry in entries):
        return tuple(finding for finding in kept if finding.code != REMOVED_API)
    return kept


def installs(data: bytes) -> bool:
    """Whether the words of a file tell that it puts names on torch."""
    return b"namecheck" in data and _INSTALLS.search(data) is not None
