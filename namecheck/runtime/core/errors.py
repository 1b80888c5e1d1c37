"""The exceptions of contradictions at run time, of the types that native torch raises."""

from __future__ import annotations

from typing import Final

from namecheck.core.findings import Finding, register


class Contradicted(Exception):
    """A contradiction at run time; `finding` has its code, message, position and operands."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding
        for line in _notes(finding):
            self.add_note(line)

    def __reduce__(self) -> tuple[type[Contradicted], tuple[Finding]]:
        return type(self), (self.finding,)


class NameMismatch(Contradicted, RuntimeError):
    """Names that do not match: native torch raises a RuntimeError."""


class NameTypeError(Contradicted, TypeError):
    """An argument that names or counts dims has a wrong type."""


class NameIndexError(Contradicted, IndexError):
    """The tensor does not have this dim or index."""


class NameValueError(Contradicted, ValueError):
    """A value for which native torch raises a ValueError."""


class NameNotImplementedError(NameMismatch, NotImplementedError):
    """A call that native torch does not implement."""


_TYPES: Final[dict[str | None, type[Contradicted]]] = {
    "TypeError": NameTypeError,
    "IndexError": NameIndexError,
    "ValueError": NameValueError,
    "NotImplementedError": NameNotImplementedError,
}


def error_of(finding: Finding) -> Contradicted:
    """The exception for a finding, of the type that native torch raises."""
    return _TYPES.get(finding.error, NameMismatch)(finding)


def _notes(finding: Finding) -> list[str]:
    operands = " and ".join(mark.message for mark in finding.marks)
    name = register()[finding.code].name
    lines = [f"  = {finding.code} {name}{': between ' if len(finding.marks) > 1 else ''}{operands}"]
    if finding.help:
        lines.append(f"  = help: {finding.help}")
    return lines


class UntestedTorchWarning(UserWarning):
    """Warns of a version of torch that namecheck was not tested with."""


# A traceback shows the name from which users import them.
for _public in (NameMismatch, NameTypeError, NameIndexError, NameValueError):
    _public.__module__ = "namecheck"
