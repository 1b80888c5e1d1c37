"""Filters findings by what any other file of the run does, whether or not it is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from namecheck.core.findings import Finding
from namecheck.project.tasks import Entry

REMOVED_API: Final = "NC701"
_INVALID_CALL: Final = "NC114"


def reported(
    findings: Iterable[Finding], entries: Sequence[Entry], read: Callable[[str], bytes | None]
) -> tuple[Finding, ...]:
    """The findings, without those that another file makes groundless.

    These are findings about the removed API if a file installs it, and findings about arguments
    that torch does not take if a file patches torch. The files are read only if there are such
    findings.
    """
    every = tuple(findings)
    for is_concerned, file_refutes in (
        (_is_about_removed_api, _installs),
        (_is_about_arguments, _patches_torch),
    ):
        if any(map(is_concerned, every)) and any(
            file_refutes(read(entry.location) or b"", entry.location) for entry in entries
        ):
            every = tuple(finding for finding in every if not is_concerned(finding))
    return every


def _installs(data: bytes, filename: str) -> bool:
    from namecheck.core.installation import file_installs  # for findings that few runs have

    return file_installs(data, filename)


def _patches_torch(data: bytes, filename: str) -> bool:
    from namecheck.core.patching import file_patches_torch  # for findings that few runs have

    return file_patches_torch(data, filename)


def _is_about_removed_api(finding: Finding) -> bool:
    return finding.code == REMOVED_API


def _is_about_arguments(finding: Finding) -> bool:
    """Whether torch does not take the arguments of a call; einops is not torch."""
    operator = "" if finding.facts is None else finding.facts.operator
    return finding.code == _INVALID_CALL and not operator.startswith("einops.")
