"""Runs code on abstract values: branches join, loops reach a fixed point, calls are inferred.

The command, the mypy plugin and the tests call `check`. No user code is imported.
"""

from __future__ import annotations

from collections.abc import Mapping

from namecheck import lints, operators
from namecheck.core.call_stack import deeply
from namecheck.core.dataclasses import dataclass
from namecheck.core.evidence import Evidence
from namecheck.core.findings import Finding, is_of_attributes
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.meter import Purse
from namecheck.interpreter.domain.renaming import Numbering
from namecheck.interpreter.domain.store import Ledger
from namecheck.interpreter.evaluation.context import Context, Inferences
from namecheck.interpreter.evaluation.findings import NOT_JUDGED
from namecheck.interpreter.evaluation.imports import Finder, Imports, below, nothing_found
from namecheck.interpreter.evaluation.observations import (
    Application,
    Applications,
    Observation,
    Observations,
    Recorder,
    Reveal,
)
from namecheck.interpreter.workspace.assembly import Assembly
from namecheck.interpreter.workspace.file_facts import FileFacts
from namecheck.interpreter.workspace.mistakes import merged_findings
from namecheck.interpreter.workspace.program import Program
from namecheck.interpreter.workspace.workspace import Alone, Files, Query, Uses, Workspace
from namecheck.operators import Operator

__all__ = [
    "Analysis",
    "Application",
    "Applications",
    "Files",
    "Finder",
    "Inferences",
    "Observation",
    "Observations",
    "Purse",
    "Query",
    "Recorder",
    "Reveal",
    "Uses",
    "Workspace",
    "analysed",
    "below",
    "briefly",
    "check",
    "new_workspace",
    "observe",
    "observe_program",
    "run",
    "run_program",
]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of analysing one file: its findings, its notes, and its revealed dims."""

    findings: tuple[Finding, ...]
    reveals: tuple[Reveal, ...] = ()


def check(
    source: Source,
    *,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    reveal: bool = False,
    inferences: Inferences | None = None,
    files: Files | None = None,
    evidence: Evidence = Evidence.DECLARED,
) -> Analysis:
    """Analyse one file; with `reveal` the dims of every tensor-valued expression are kept.

    `files` finds the files that it imports. `inferences` caches the results of the rules; files
    checked in the same semantics with the same table may share it. With observed `evidence`, the
    names that the code itself has are followed. Raises RecursionError for code nested too deeply
    to descend into.
    """
    recorder = Recorder() if reveal else None
    finder = Alone(source) if files is None else files
    analysis = new_workspace(finder, semantics, rows, inferences, recorder, evidence=evidence)
    findings, _ = analysed(analysis, source.filename)
    return Analysis(
        findings,
        () if recorder is None else tuple(sorted(recorder.reveals(source), key=lambda r: r.span)),
    )


def new_workspace(
    files: Files,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    inferences: Inferences | None = None,
    recorder: Recorder | None = None,
    *,
    removed_api: bool = False,
    evidence: Evidence = Evidence.DECLARED,
    purse: Purse | None = None,
) -> Workspace:
    """The files of a project, none of them run yet.

    With `removed_api`, NC701 reports uses of the API that torch 2.13 removed. With observed
    `evidence`, the names that the code itself has are followed. What analyses cost is taken
    from the `purse`, and no more than that has left.
    """
    table = operators.table() if rows is None else rows
    requests = {""}
    if removed_api:
        requests.add("removed_api")
    if evidence.is_observed:
        requests.add("evidence")
    chosen = lints.discovered(frozenset(requests))
    return Workspace(files, semantics, table, inferences, recorder, chosen, evidence, purse)


def analysed(project: Workspace, location: str) -> tuple[tuple[Finding, ...], Uses]:
    """The findings from one file, and what they depend on; raises as `check` does.

    A finding may be in another file, reached by a call.
    """
    program, uses = deeply(lambda: project.run(location))
    interpreter = program.interpreter
    findings = list(merged_findings(interpreter))
    places = {(finding.filename, finding.span) for finding in findings}
    for lint in interpreter.listeners.every:
        # A lint is not worth a second finding where the code has a contradiction.
        findings += (
            finding
            for finding in lint.findings(interpreter.source)
            if lint.independent or (finding.filename, finding.span) not in places
        )
    return tuple(sorted(findings, key=lambda f: (f.filename, f.span, f.code))), uses


def briefly(
    source: Source,
    semantics: Semantics,
    rows: Mapping[str, Operator] | None,
    inferences: Inferences,
    purse: Purse | None = None,
) -> tuple[Finding, ...]:
    """The findings about attributes in one file, each function run by itself; raises as `check`.

    What it costs is taken from the `purse`, and no more than that has left.
    """
    interpreter = _alone(source, nothing_found, semantics, rows, inferences, None, purse)
    program = Program(interpreter)
    deeply(program.run_briefly)
    if purse is not None:
        purse.spend(interpreter.context.ledger.meter.spent)
    findings = [
        finding
        for finding in merged_findings(interpreter)
        if is_of_attributes(finding.code) or finding.code == NOT_JUDGED
    ]
    return tuple(sorted(findings, key=lambda f: (f.filename, f.span, f.code)))


def run(
    source: Source,
    *,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    inferences: Inferences | None = None,
) -> Program:
    """Run one file, and return its variables with the findings."""
    project = new_workspace(Alone(source), semantics, rows, inferences)
    return deeply(lambda: project.run(source.filename)[0])


def observe(
    source: Source,
    *,
    finder: Finder = nothing_found,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    inferences: Inferences | None = None,
    evidence: Evidence = Evidence.DECLARED,
) -> Observations:
    """Run one file as a program, and return the values of its expressions, file by file.

    `finder` finds the files that it imports, `evidence` says what names dims.
    Functions that the program does not call are not run. Raises RecursionError as `check` does.
    """
    recorder = Recorder()
    files = run_program(source, recorder, finder, semantics, rows, inferences, evidence=evidence)
    return {file.filename: recorder.observations(file) for file in files}


def observe_program(
    location: str,
    files: Files,
    *,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    inferences: Inferences | None = None,
    evidence: Evidence = Evidence.DECLARED,
) -> Observations:
    """Run one of some files as a program, as `observe` does.

    A file that it imports is run when a name of it is read.
    """
    table = operators.table() if rows is None else rows
    recorder = Recorder()
    project = Workspace(files, semantics, table, inferences, recorder, evidence=evidence)
    deeply(lambda: project.run_program(location))
    sources = project.facts.sources.values()
    return {file.filename: recorder.observations(file) for file in sources}


def run_program(
    source: Source,
    recorder: Recorder,
    finder: Finder = nothing_found,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    inferences: Inferences | None = None,
    purse: Purse | None = None,
    evidence: Evidence = Evidence.DECLARED,
) -> tuple[Source, ...]:
    """Run one file as a program for a recorder, as `observe` does; the files that took part.

    What it costs is taken from the `purse`, and no more than that has left.
    """
    interpreter = _alone(
        source, finder, semantics, rows, inferences, recorder, purse, evidence=evidence
    )
    deeply(Program(interpreter).run_main)
    if purse is not None:
        purse.spend(interpreter.context.ledger.meter.spent)
    return tuple(interpreter.context.files.sources.values())


def _alone(
    source: Source,
    finder: Finder,
    semantics: Semantics,
    rows: Mapping[str, Operator] | None,
    inferences: Inferences | None,
    recorder: Recorder | None,
    purse: Purse | None = None,
    evidence: Evidence = Evidence.DECLARED,
) -> Assembly:
    """The interpreter of a program that is run from one file."""
    ledger = Ledger()
    context = Context(
        semantics,
        operators.table() if rows is None else rows,
        FileFacts(evidence=evidence),
        ledger,
        Numbering(ledger),
        recorder,
        {} if inferences is None else inferences,
        evidence,
        purse,
    )
    return Assembly(source, context, lambda interpreter: Imports(interpreter, finder))
