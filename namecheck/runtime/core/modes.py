"""What happens where names contradict: an error, a warning, a record, or nothing.

A mode is in force in the context (thread, task) that entered it, innermost last; elsewhere the
process's default is: ``error`` after `install`, ``off`` before. A generator that is suspended in
a ``with`` block leaves its mode in force until it goes on or is closed.
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
    """One finding, and how often it was met at its place."""

    finding: Finding
    count: int = 0


@dataclass(slots=True)
class Record:
    """The findings met, each place and message once, with a count."""

    tallies: dict[tuple[str, Span, str], Tally] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, finding: Finding) -> bool:
        """Enter a finding; whether it is the first of its kind at its place."""
        key = (finding.filename, finding.span, finding.message)
        with self.lock:
            tally = self.tallies.setdefault(key, Tally(finding))
            tally.count += 1
            return tally.count == 1

    def overhear(self, finding: Finding) -> None:
        """Hear of a finding that another record takes."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding once, in the order in which they were met."""
        return tuple(tally.finding for tally in self.tallies.values())

    @property
    def counts(self) -> tuple[tuple[Finding, int], ...]:
        """Every finding with how often it was met."""
        return tuple((tally.finding, tally.count) for tally in self.tallies.values())


@dataclass(slots=True)
class Entered:
    """A mode that was entered, and whether it still counts."""

    mode: Mode
    record: Record
    active: bool = True


_entered: ContextVar[tuple[Entered, ...]] = ContextVar("namecheck_modes", default=())


def enter(mode: Mode, record: Record) -> Entered:
    """Put a mode in force in this context."""
    entry = Entered(mode, record)
    _entered.set((*_current(), entry))
    return entry


def leave(entry: Entered) -> None:
    """End a mode wherever it was entered; others that were entered meanwhile stay."""
    entry.active = False
    _entered.set(_current())


def _current() -> tuple[Entered, ...]:
    return tuple(entry for entry in _entered.get() if entry.active)


def innermost() -> Entered | None:
    """The mode that this context has entered last and not left."""
    return next((entry for entry in reversed(_entered.get()) if entry.active), None)


def switched_off() -> bool:
    """Whether the environment turns every check off."""
    return os.environ.get(SWITCH, "").lower() in ("off", "0", "false", "no")


def warn(finding: Finding) -> None:
    """Tell of a finding on standard error, as ``file:line:column: code message``."""
    place = f"{finding.filename}:{finding.span.line}:{finding.span.column}"
    message = finding.message.replace("\n", "\n    ")
    print(f"{place}: {finding.code} {message}", file=sys.stderr)
    if finding.help:
        print(f"    help: {finding.help}", file=sys.stderr)
