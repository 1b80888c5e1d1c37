"""Checks one program for the playground, and returns findings and dims as data.

Offsets count the units of UTF-16 from the start of the program, as the strings of JavaScript do.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, Final

from namecheck import project
from namecheck.core import syntax
from namecheck.core.evidence import Evidence
from namecheck.core.findings import Finding, Place, Span, register
from namecheck.core.semantics import Semantics
from namecheck.interpreter.workspace import analysis
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import Settings

_NAME: Final = "/program.py"


class Offsets:
    """Converts lines and columns of a program to offsets."""

    def __init__(self, program: str) -> None:
        self._lines = program.split("\n")
        self._starts = [0, *accumulate(_units(line) + 1 for line in self._lines)]

    def at(self, line: int, column: int) -> int:
        """The offset of a place; one beyond the end of its line is the end of the line."""
        index = min(max(line - 1, 0), len(self._lines) - 1)
        return self._starts[index] + _units(self._lines[index][: max(column - 1, 0)])

    def range(self, span: Span) -> dict[str, int]:
        """A stretch of the program as the offsets of its ends, and the line that it starts on."""
        start, end = self.at(*span.start), self.at(*span.end)
        return {"from": start, "to": max(start, end), "line": span.line}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def findings(program: str, evidence: str, semantics: str) -> str:
    """The findings in a program, as JSON."""
    settings = Settings(
        root="/", semantics=Semantics(semantics), evidence=evidence, attributes="all"
    )
    data = program.encode("utf-8", "replace")
    offsets = Offsets(program)
    findings = project.check_text(data, _NAME, settings).findings
    return json.dumps([_finding(finding, offsets) for finding in findings])


def _finding(finding: Finding, offsets: Offsets) -> dict[str, Any]:
    code = register()[finding.code]
    return {
        "code": code.code,
        "name": code.name,
        "kind": code.kind.value,
        "summary": code.summary,
        "message": finding.message,
        "help": finding.help,
        **offsets.range(finding.span),
        "marks": list(_places(finding.marks, offsets)),
        "related": list(_places(finding.related, offsets)),
    }


def _places(places: Iterable[Place], offsets: Offsets) -> Iterator[dict[str, Any]]:
    for place in places:
        yield {**offsets.range(place.span), "message": place.message}


def dims(program: str, evidence: str, semantics: str) -> str:
    """The dims of the expressions of a program, as JSON.

    `expressions` has those of every expression whose value is a tensor, `lines` those of the value
    of each statement, to be shown after the last line of the statement.
    """
    try:
        source = syntax.parse(program.encode("utf-8", "replace"), _NAME)
    except syntax.Refused:
        return json.dumps({"expressions": [], "lines": []})
    offsets = Offsets(program)
    files = ProjectFiles()
    files.add(source.filename, source)
    recorder = analysis.Recorder()
    workspace = analysis.new_workspace(
        files,
        Semantics(semantics),
        recorder=recorder,
        evidence=Evidence(evidence),
    )
    analysis.analysed(workspace, source.filename)
    by_span = {reveal.span: reveal.dims for reveal in recorder.reveals(source)}
    expressions = [{**offsets.range(span), "dims": text} for span, text in sorted(by_span.items())]
    lines = [
        {"line": value.end_line, "dims": by_span[value]}
        for value in map(source.span, _values(source.tree))
        if value in by_span
    ]
    return json.dumps({"expressions": expressions, "lines": lines})


def _values(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions whose value a statement assigns or returns."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return)) and node.value is not None:
            yield node.value
        elif isinstance(node, ast.AugAssign):
            yield node.target
