"""Reads, parses and analyses one file; which findings are reported is decided later.

A fault in the analysis of a file becomes the finding NC005 of that file.
"""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from namecheck.core import syntax
from namecheck.core.dataclasses import replace
from namecheck.core.evidence import Evidence
from namecheck.core.faults import TableError
from namecheck.core.findings import Finding, Span
from namecheck.core.garbage import seldom_collected
from namecheck.core.regular_files import reason_of
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Refused, Source
from namecheck.project.disk import OWN, Disk
from namecheck.project.files import NOTHING, ProjectFiles, Reads
from namecheck.project.settings import Settings
from namecheck.project.suppression import Comments
from namecheck.project.tasks import Entry, Outcome

# The interpreter is imported where it analyses: most files name nothing, and are not analysed.
if TYPE_CHECKING:
    from namecheck.interpreter.workspace.analysis import (
        Inferences,
        Purse,
        Recorder,
        Reveal,
        Uses,
        Workspace,
    )

TOP: Final = Span(1, 1, 1, 1)
# With more nodes of syntax trees than these the cached files are dropped: a node takes some 400
# bytes. Ordinary code has one for each 13 characters, and hostile code for each.
_KEPT: Final = 500_000
# What an analysis keeps (results of rules, objects of the program, what was judged) takes as much
# as a node for each so many of its steps, at most.
_STEPS_OF_A_NODE: Final = 16
# How many rule results are cached across files that name no dimension.
_REMEMBERED: Final = 20_000


class Checker:
    """Checks files that import each other: a file that several import is analysed once.

    With `counting`, each file is checked by itself, and its expressions are counted; with
    `inspecting` they are listed as well. The `overlay` has contents of files, by location, that
    replace those on the disk; the files that are read are added to `reads`. What the analyses cost
    is taken from the `purse`, and no more than that has left.
    """

    def __init__(
        self,
        counting: bool = False,
        overlay: Mapping[str, bytes] = NOTHING,
        reads: Reads | None = None,
        disk: Disk = OWN,
        inspecting: bool = False,
        purse: Purse | None = None,
    ) -> None:
        self._disk = disk
        self._purse = purse
        self._counting = counting or inspecting
        self._inspecting = inspecting
        self._overlay = overlay
        self._reads = Reads() if reads is None else reads
        self._begin()

    def _begin(self) -> None:
        self._recorder = _recorder() if self._counting else None
        self._steps = 0
        self._files = ProjectFiles(self._overlay, self._reads, self._disk)
        self._inferences: dict[tuple[Semantics, tuple[str, ...]], Inferences] = {}
        self._workspaces: dict[tuple[Semantics, tuple[str, ...], bool, str], Workspace] = {}

    def file(self, entry: Entry, parses: bool, leads: bool) -> Outcome:
        """Check one file.

        `parses` says that it is parsed even if it names no dimension, `leads` that it is analysed
        even then, as it imports from files that do.
        """
        location = entry.location
        self._reads.locations.add(location)
        try:
            if entry.refusal is not None:
                return Outcome((_unreadable(location, entry.refusal),))
            changed = self._overlay.get(location)
            data = self._disk.contents(location) if changed is None else changed
        except OSError as error:
            return Outcome((_unreadable(location, reason_of(error)),))
        return self.text(data, location, entry.settings, parses, leads)

    @seldom_collected()
    def text(
        self, data: bytes, location: str, settings: Settings, parses: bool, leads: bool
    ) -> Outcome:
        """Check the contents of one file."""
        if is_silent(data, parses, leads, settings):
            return Outcome(parsed=False)
        analysed = leads or settings.names_dims(data)
        computes = settings.checks_all and syntax.imports_torch(data)
        try:
            source = self._files.stored(location) or syntax.parse(data, location)
        except Refused as refused:
            return Outcome((refused.finding,))
        findings: tuple[Finding, ...] = ()
        uses = counted = inspection = None
        if analysed:
            findings, uses = self._analyse(source, settings)
        if settings.observes and not syntax.names_something(data):
            findings = tuple(replace(finding, plain=True) for finding in findings)
        if analysed and self._recorder is not None:
            from namecheck.interpreter.workspace.statistics import collect

            counted = collect(self._recorder, source)
            if self._inspecting:
                from namecheck.interpreter.workspace.inspection import inspect

                inspection = inspect(self._recorder, source)
        if computes:
            findings = self._with_attributes(findings, source, settings, uses)
        return Outcome(findings, True, Comments.of(source), uses, counted, inspection)

    def _analyse(self, source: Source, settings: Settings) -> tuple[tuple[Finding, ...], Uses]:
        """The findings of the interpreter in one file; its own faults become findings."""
        from namecheck.interpreter.workspace import analysis as interpreter

        is_full = self._files.has_more_nodes(_KEPT - self._steps // _STEPS_OF_A_NODE)
        if is_full or self._counting:
            self._begin()
        if is_full:
            gc.collect()  # analyses refer to each other in cycles
        self._files.add(source.filename, source)
        workspace = self._workspace_of(settings)
        try:
            findings, uses = interpreter.analysed(workspace, source.filename)
            self._steps += uses.steps
            return findings, uses
        except Exception as error:
            self._begin()
            return (_fault(source, error),), interpreter.Uses({source.filename})

    def _with_attributes(
        self,
        findings: tuple[Finding, ...],
        source: Source,
        settings: Settings,
        uses: Uses | None,
    ) -> tuple[Finding, ...]:
        """The findings, and those about attributes in functions that names do not make relevant.

        The steps that are left after the analysis with these uses are taken for them. It has run
        all other functions, and knows more of their values.
        """
        from namecheck.interpreter.evaluation.findings import NOT_JUDGED
        from namecheck.interpreter.workspace import analysis as interpreter

        left_out: tuple[range, ...] = ()
        is_judged = uses is not None and all(finding.code != NOT_JUDGED for finding in findings)
        if is_judged:
            left_out = self._workspace_of(settings).facts.left_out(source)
            if not left_out:
                return findings
        key = settings.semantics, settings.extend_operators
        inferences = self._inferences.setdefault(key, {})
        if len(inferences) > _REMEMBERED:
            inferences.clear()
        purse = self._purse
        if purse is None and uses is not None:
            purse = interpreter.Purse.after(uses.together)
        try:
            further = interpreter.briefly(
                source, settings.semantics, settings.rows(), inferences, purse
            )
        except Exception as error:
            return (*findings, _fault(source, error))
        if is_judged:
            further = tuple(f for f in further if any(f.span.line in each for each in left_out))
        places = {(finding.filename, finding.span, finding.code) for finding in findings}
        return (*findings, *(f for f in further if (f.filename, f.span, f.code) not in places))

    def _workspace_of(self, settings: Settings) -> Workspace:
        key = settings.semantics, settings.extend_operators, settings.removed_api, settings.evidence
        workspace = self._workspaces.get(key)
        if workspace is None:
            from namecheck.interpreter.workspace.analysis import new_workspace

            workspace = new_workspace(
                self._files,
                settings.semantics,
                settings.rows(),
                None,
                self._recorder,
                removed_api=settings.removed_api,
                evidence=Evidence(settings.evidence),
                purse=self._purse,
            )
            self._workspaces[key] = workspace
        return workspace


def _recorder() -> Recorder:
    from namecheck.interpreter.workspace.analysis import Recorder

    return Recorder()


def is_silent(data: bytes, parses: bool, leads: bool, settings: Settings) -> bool:
    """Whether a file has nothing to be checked and is not even parsed."""
    return not (
        leads
        or parses
        or b"namecheck:" in data
        or settings.names_dims(data)
        or (settings.checks_all and syntax.imports_torch(data))
    )


def _unreadable(path: str, reason: str) -> Finding:
    return Finding(
        "NC002",
        f"It cannot be read: {reason}.",
        path,
        TOP,
        help="Mend its permissions or its link, or leave it out with `exclude`.",
    )


@seldom_collected()
def reveal(
    data: bytes,
    path: str,
    settings: Settings,
    overlay: Mapping[str, bytes] = NOTHING,
    reads: Reads | None = None,
) -> tuple[Reveal, ...]:
    """The dims of every tensor-valued expression of a file; raises `Refused`.

    `overlay` has the contents of files, by location, that replace those on the disk; other files
    that are read are added to `reads`.
    """
    from namecheck.interpreter.workspace import analysis as interpreter

    parsed = syntax.parse(data, path)
    source = Source(os.path.abspath(path), parsed.text, parsed.tree)
    rows = settings.rows()
    files = ProjectFiles(overlay, reads)
    files.add(source.filename, source)
    try:
        analysis = interpreter.check(
            source,
            semantics=settings.semantics,
            rows=rows,
            reveal=True,
            inferences=settings.inferences,
            files=files,
            evidence=Evidence(settings.evidence),
        )
    except Exception as error:
        raise Refused(_fault(parsed, error)) from error
    return analysis.reveals


_DEEP: Final = 100


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _fault(source: Source, error: Exception) -> Finding:
    """A fault of the analysis as a finding; one of the installation ends the run.

    A mistake in a row of the shipped table may cause any error. The analysis imports no file that
    it checks, so an `ImportError` is about namecheck's own modules.
    """
    if not isinstance(error, RecursionError):
        _check_table()
    if isinstance(error, TableError | ImportError):
        raise error
    if isinstance(error, RecursionError) and _depth(source.tree) >= _DEEP:
        return syntax.too_deep(source.filename, TOP, "the analysis runs out of stack")
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return fault(source.filename, f"{text} (at {where})")


@cache
def _check_table() -> None:
    from namecheck.operators import check_shipped  # only a run with faults needs it

    check_shipped()


def fault(filename: str, what: str) -> Finding:
    """The finding NC005, for a file on which namecheck itself fails."""
    return Finding(
        "NC005",
        f"namecheck failed on this file: {what}.",
        filename,
        TOP,
        help="This is a fault of namecheck; the file was not checked. Please report it.",
    )
