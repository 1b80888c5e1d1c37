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
from namecheck.interpreter.imports import Finder, below, nothing_found
from namecheck.interpreter.machine import Inferences, Machine
from namecheck.interpreter.observations import (
    Observation,
    Observations,
    Recorder,
    Reveal,
)
from namecheck.interpreter.program import Program
from namecheck.operators import Operator, Semantics
from namecheck.syntax import Source

__all__ = [
    "Analysis",
    "Finder",
    "Inferences",
    "Observation",
    "Observations",
    "Reveal",
    "below",
    "check",
    "observe",
    "run",
]

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
    recorder = Recorder() if reveal else None
    machine = _machine(source, semantics, rows, inferences, recorder)
    with _deep_recursion():
        Program(machine).run()
    return Analysis(
        tuple(sorted(machine.findings.values(), key=lambda f: (f.span, f.code))),
        () if recorder is None else tuple(sorted(recorder.reveals(source), key=lambda r: r.span)),
    )


def run(
    source: Source,
    *,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    inferences: Inferences | None = None,
) -> Program:
    """Run one file, and hand back its variables with the findings."""
    program = Program(_machine(source, semantics, rows, inferences))
    with _deep_recursion():
        program.run()
    return program


def observe(
    source: Source,
    *,
    finder: Finder = nothing_found,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    inferences: Inferences | None = None,
) -> Observations:
    """Run one file as a program, and tell what each of its expressions gives, file by file.

    `finder` finds the files that it imports. Functions that the program does not call are not
    run. Raises RecursionError as `check` does.
    """
    recorder = Recorder()
    machine = _machine(source, semantics, rows, inferences, recorder)
    with _deep_recursion():
        Program(machine, finder).run_main()
    return {file.filename: recorder.observations(file) for file in machine.sources.values()}


def _machine(
    source: Source,
    semantics: Semantics,
    rows: Mapping[str, Operator] | None,
    inferences: Inferences | None,
    recorder: Recorder | None = None,
) -> Machine:
    machine = Machine(source, semantics, operators.table() if rows is None else rows, recorder)
    if inferences is not None:
        machine.inferences = inferences
    return machine


@contextmanager
def _deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
