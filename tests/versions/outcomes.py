"""The outcome of the tests with one version."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome with one version: its last line, and the whole output."""

    version: str
    summary: str
    output: str = ""
    failed: bool = False

    @property
    def row(self) -> str:
        """The row of the table."""
        return f"{self.version}: {self.summary}"


def of_run(version: str, run: subprocess.CompletedProcess[str]) -> Outcome:
    """The outcome of a command, whose last line sums it up."""
    lines = run.stdout.strip().splitlines()
    summary = lines[-1].strip("= ") if lines else ""
    return Outcome(version, summary, run.stdout, run.returncode != 0)


def not_run(version: str, reason: object) -> Outcome:
    """The outcome with a version that cannot be had here, which is no failure."""
    return Outcome(version, f"not run: {reason}")
