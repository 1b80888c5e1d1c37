"""Runs code on abstract values: branches join, loops reach a fixed point, calls are inferred.

`check` is what the command, the mypy plugin and the tests enter by. No user code is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from namecheck import operators
from namecheck.findings import Finding
from namecheck.interpreter.machine import Inferences, Machine, Reveal
from namecheck.interpreter.program import Program
from namecheck.operators import Operator, Semantics
from namecheck.syntax import Source

__all__ = ["Analysis", "Inferences", "Reveal", "check", "run"]

_RECURSION_LIMIT = 12_000


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the analysis of one file says: its findings and notes, and its revealed dims."""

    findings: tuple[Finding, ...]
    reveals: tuple[Reveal, ...] = ()


def check(
    source: Source,
    *,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    reveal: bool = False,
    inferences: Inferences | None = None,
) -> Analysis:
    """Analyse one file; with `reveal` the dims of every tensor-valued expression are kept.

    `inferences` remembers what the rules answered; files checked in the same semantics with the
    same table may share it. Raises RecursionError for code nested too deeply to descend into.
    """
    program = run(source, semantics=semantics, rows=rows, reveal=reveal, inferences=inferences)
    machine = program.machine
    reveals = machine.reveals or {}
    return Analysis(
        tuple(sorted(machine.findings.values(), key=lambda f: (f.span, f.code))),
        tuple(reveals[span] for span in sorted(reveals)),
    )


def run(
    source: Source,
    *,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    reveal: bool = False,
    inferences: Inferences | None = None,
) -> Program:
    """Run one file, and hand back its variables with the findings."""
    machine = Machine(source, semantics, operators.table() if rows is None else rows, reveal=reveal)
    if inferences is not None:
        machine.inferences = inferences
    program = Program(machine)
    with _deep_recursion():
        program.run()
    return program


@contextmanager
def _deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
