"""What is raised at run time where names contradict: native torch's types and words."""

from __future__ import annotations

from typing import Final

from namecheck.core.findings import Finding, register


class Contradicted(Exception):
    """A contradiction that was met at run time; `finding` tells all that is known of it."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding
        for line in _notes(finding):
            self.add_note(line)

    def __reduce__(self) -> tuple[type[Contradicted], tuple[Finding]]:
        return type(self), (self.finding,)


class NameMismatch(Contradicted, RuntimeError):
    """Names that cannot go together: native torch raises a RuntimeError."""


class NameTypeError(Contradicted, TypeError):
    """An argument that names or counts dims and is of the wrong type."""


class NameIndexError(Contradicted, IndexError):
    """A dim or an index that the tensor does not have."""


class NameValueError(Contradicted, ValueError):
    """A value that native torch refuses with a ValueError."""


_TYPES: Final[dict[str | None, type[Contradicted]]] = {
    "TypeError": NameTypeError,
    "IndexError": NameIndexError,
    "ValueError": NameValueError,
}


def error_of(finding: Finding) -> Contradicted:
    """The exception for a finding, of the type that native torch raises."""
    return _TYPES.get(finding.error, NameMismatch)(finding)


def _notes(finding: Finding) -> list[str]:
    met = " and ".join(mark.message for mark in finding.marks)
    name = register()[finding.code].name
    lines = [f"  = {finding.code} {name}{': between ' if len(finding.marks) > 1 else ''}{met}"]
    if finding.help:
        lines.append(f"  = help: {finding.help}")
    return lines


class UntestedTorchWarning(UserWarning):
    """A version of torch that namecheck was not tested with."""


# A traceback shows them by the name under which they are imported.
for _public in (NameMismatch, NameTypeError, NameIndexError, NameValueError):
    _public.__module__ = "namecheck"
