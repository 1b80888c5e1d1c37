"""A file to check, and the outcome of its check."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from namecheck.core.dataclasses import dataclass

if TYPE_CHECKING:
    from namecheck.core.findings import Finding
    from namecheck.interpreter.workspace.analysis import Uses
    from namecheck.interpreter.workspace.inspection import Inspection
    from namecheck.interpreter.workspace.statistics import Statistics
    from namecheck.project.settings import Settings
    from namecheck.project.suppression import Comments


class Entry(NamedTuple):
    """One file to check; `location` is absolute, `refusal` says why it cannot be read.

    `stamp` is that of the file (`namecheck.core.stamps`) when the folder was read. A `linked` file
    was reached through a link that nobody named: it is read, and never written.
    """

    path: str
    location: str
    settings: Settings
    size: int = 0
    explicit: bool = False
    refusal: str | None = None
    stamp: str = ""
    linked: bool = False


class Task(NamedTuple):
    """A file to check.

    `parses` says that it is parsed even if it names no dimension, `leads` that it is analysed even
    then.
    """

    entry: Entry
    parses: bool
    leads: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one file, before comments and settings choose among its findings.

    All paths are absolute. A finding may be in another file, reached by a call from this one.
    """

    findings: tuple[Finding, ...] = ()
    parsed: bool = True
    comments: Comments | None = None
    uses: Uses | None = None
    statistics: Statistics | None = None
    inspection: Inspection | None = None
