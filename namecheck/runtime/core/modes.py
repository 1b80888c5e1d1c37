"""The mode says what a contradiction of names leads to: an error, a warning, a record, nothing.

A context (thread or task) has a stack of modes; the innermost one applies. A context without a
mode of its own uses the default of the process: ``error`` after `install`, ``off`` before. A
generator that is suspended inside a ``with`` block keeps the mode of that block active until the
generator resumes or is closed.
"""

from __future__ import annotations

import os
import sys
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from namecheck.core.findings import Finding, Span

Mode: TypeAlias = Literal["error", "warn", "record", "off"]
MODES: Final = ("error", "warn", "record")
SWITCH: Final = "NAMECHECK"


@dataclass(slots=True)
class Tally:
    """One finding and the number of times it was reported."""

    finding: Finding
    count: int = 0


@dataclass(slots=True)
class Record:
    """The findings that were reported, one entry for each position and message, with a count."""

    tallies: dict[tuple[str, Span, str], Tally] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, finding: Finding) -> bool:
        """Count a finding; True if its position and message are new."""
        key = (finding.filename, finding.span, finding.message)
        with self.lock:
            tally = self.tallies.setdefault(key, Tally(finding))
            tally.count += 1
            return tally.count == 1

    def observe(self, finding: Finding) -> None:
        """Called with each finding that goes to another record; does nothing here."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding once, in the order of their first report."""
        return tuple(tally.finding for tally in self.tallies.values())

    @property
    def counts(self) -> tuple[tuple[Finding, int], ...]:
        """Every finding with the number of its reports."""
        return tuple((tally.finding, tally.count) for tally in self.tallies.values())


@dataclass(slots=True)
class Entered:
    """A mode on the stack of a context; `active` is False once its block has ended."""

    mode: Mode
    record: Record
    active: bool = True


_entered: ContextVar[tuple[Entered, ...]] = ContextVar("namecheck_modes", default=())


def enter(mode: Mode, log: Record) -> Entered:
    """Push a mode on the stack of this context. `log` receives its findings."""
    entry = Entered(mode, log)
    _entered.set((*_current(), entry))
    return entry


def leave(entry: Entered) -> None:
    """End a mode, in whatever context; modes that were entered later stay active."""
    entry.active = False
    _entered.set(_current())


def _current() -> tuple[Entered, ...]:
    return tuple(entry for entry in _entered.get() if entry.active)


def innermost() -> Entered | None:
    """The active mode that this context entered last, if any."""
    return next((entry for entry in reversed(_entered.get()) if entry.active), None)


def switched_off() -> bool:
    """Whether the environment variable NAMECHECK turns every check off."""
    return os.environ.get(SWITCH, "").lower() in ("off", "0", "false", "no")


def warn(finding: Finding) -> None:
    """Print a finding on standard error as ``file:line:column: code message``."""
    position = f"{finding.filename}:{finding.span.line}:{finding.span.column}"
    message = finding.message.replace("\n", "\n    ")
    print(f"{position}: {finding.code} {message}", file=sys.stderr)
    if finding.help:
        print(f"    help: {finding.help}", file=sys.stderr)
