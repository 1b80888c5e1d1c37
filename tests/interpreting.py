"""Small programs for the tests of the interpreter, run without files.

A program may leave out ``import torch``; ``# BUG`` ends the lines that must have a finding.
"""

from __future__ import annotations

from textwrap import dedent

from namecheck.core import syntax
from namecheck.core.findings import Finding
from namecheck.core.semantics import Semantics
from namecheck.interpreter.domain.joins import held
from namecheck.interpreter.domain.values import Const, TensorValue, Value
from namecheck.interpreter.workspace import analysis

NOTE = "NC090"
_PRELUDE = "import torch\n"


def parsed(source: str) -> syntax.Source:
    """The program, parsed."""
    return syntax.parse((_PRELUDE + dedent(source).lstrip("\n")).encode(), "program.py")


def findings(source: str, semantics: Semantics = Semantics.NAMECHECK) -> tuple[Finding, ...]:
    """The findings in a program, without notes."""
    found = analysis.check(parsed(source), semantics=semantics).findings
    return tuple(finding for finding in found if finding.code != NOTE)


def codes(source: str) -> list[str]:
    """The codes of the findings in a program."""
    return [finding.code for finding in findings(source)]


def notes(source: str) -> list[str]:
    """The texts of the `reveal_names` notes in a program, in the order of the lines."""
    found = analysis.check(parsed(source)).findings
    return [finding.message for finding in found if finding.code == NOTE]


def value(source: str, variable: str) -> Value | None:
    """The value of a variable at the end of a program."""
    return analysis.run(parsed(source)).variable(variable)


def dims(source: str, variable: str) -> str:
    """The dims of the tensor in a variable at the end; a constant as source."""
    program = analysis.run(parsed(source))
    found = program.variable(variable)
    if isinstance(found, Const):
        return repr(found.value)
    if not isinstance(found, TensorValue):
        return "?"
    return held(found, program.store).tensor.dims.brief()


def check(source: str) -> None:
    """Check that the findings are on the lines marked ``# BUG``, and nowhere else."""
    lines = parsed(source).lines
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# BUG")]
    found = findings(source)
    shown = "".join(f"\n{finding.span.line}: {finding.message}" for finding in found)
    assert [finding.span.line for finding in found] == marked, shown or "nothing is found"
