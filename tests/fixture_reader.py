"""Reads the fixtures: pairs of small programs, and Markdown pages with expectations on their lines.

A pair is ``NAME.bug.py`` and ``NAME.ok.py``; the bug is on the statement marked ``# BUG``. In a
page every block that starts with three backquotes and ``python`` is a program of its own; a line
of it may end with ``# error: [NC101] part of the message`` or ``# revealed: N C=3``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from namecheck.core import syntax
from namecheck.core.findings import Finding
from namecheck.core.semantics import Semantics
from namecheck.interpreter.workspace import analysis

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"
REVEALED: Final = "NC090"

_HEADER = re.compile(r"# (construct|code|semantics|native|kind): (.*)")
_EXPECTATION = re.compile(r"#\s*(?:error: \[(NC\d{3})\]|(revealed):)[ \t]*([^#\n]*)")
_MARK: Final = "# BUG"


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expected finding of `code` on `line`; `text` is in its message."""

    line: int
    code: str
    text: str

    def met_by(self, finding: Finding) -> bool:
        """Whether a finding is the expected one; a note must have exactly these dims."""
        if (finding.span.line, finding.code) != (self.line, self.code):
            return False
        if self.code == REVEALED:
            return finding.message == self.text
        return self.text in finding.message

    def show(self) -> str:
        return f"[{self.code}] {self.text}".rstrip()


@dataclass(frozen=True)
class Program:
    """A Python program among the fixtures; `offset` lines precede it in its file."""

    path: Path
    text: str
    semantics: Semantics = Semantics.NAMECHECK
    offset: int = 0

    @property
    def place(self) -> str:
        """The file under fixtures/, and for a block its first line."""
        name = self.path.relative_to(FIXTURES).as_posix()
        return f"{name}:{self.offset + 1}" if self.offset else name

    def under(self, semantics: Semantics) -> Program:
        """The same program with another semantics."""
        return replace(self, semantics=semantics)

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def source(self) -> syntax.Source:
        return syntax.parse(self.text.encode(), str(self.path))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the interpreter."""
        return analysis.check(self.source, semantics=self.semantics).findings

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations at the ends of the lines."""
        return tuple(
            Expectation(number, code or REVEALED, text.strip())
            for number, line in enumerate(self.lines, 1)
            for code, _, text in _EXPECTATION.findall(line)
        )

    @cached_property
    def header(self) -> dict[str, str]:
        """The fields of the comments at the top of the file."""
        found: dict[str, str] = {}
        for line in self.lines:
            match = _HEADER.fullmatch(line)
            if match is None:
                break
            found[match[1]] = match[2]
        return found

    @cached_property
    def marks(self) -> frozenset[int]:
        """All lines of the statements that are marked as the bug."""
        marked: set[int] = set()
        for number, line in enumerate(self.lines, 1):
            if line.rstrip().endswith(_MARK):
                first, last = self.source.statement_lines(number)
                marked |= set(range(first, last + 1))
        return frozenset(marked)

    def at(self, line: int) -> str:
        """A line of the program as a place in its file."""
        return f"{self.path}:{self.offset + line}"

    def show(self, finding: Finding) -> str:
        """A finding for the message of a failed test."""
        return f"{self.at(finding.span.line)}: [{finding.code}] {finding.message}"


@dataclass(frozen=True, slots=True)
class Pair:
    """A program with a bug, and the corrected program."""

    bug: Program
    ok: Program

    @property
    def code(self) -> str:
        """The code of the bug's finding."""
        return self.bug.header["code"]


def pairs(folder: str) -> list[Pair]:
    """All pairs of a folder of the fixtures, by name."""
    found: list[Pair] = []
    for path in sorted((FIXTURES / folder).glob("*.bug.py")):
        right = path.with_name(path.name.replace(".bug.py", ".ok.py"))
        found.append(Pair(_program(path), _program(right)))
    return found


def programs(folder: str) -> list[Program]:
    """All programs of a folder of the fixtures that stand alone, by name."""
    return [_program(path) for path in sorted((FIXTURES / folder).glob("*.py"))]


def _program(path: Path) -> Program:
    text = path.read_text("utf-8")
    wanted = re.search(r"^# semantics: (.*)$", text, re.MULTILINE)
    return Program(path, text, Semantics(wanted[1]) if wanted else Semantics.NAMECHECK)


def pages() -> list[Program]:
    """All blocks of Python of all pages, in order."""
    return [block for path in sorted((FIXTURES / "pages").glob("*.md")) for block in blocks(path)]


def blocks(path: Path) -> Iterator[Program]:
    """The blocks of Python of one page; ``python torch-2.12`` names the semantics of a block."""
    inside: list[str] | None = None
    start, semantics = 0, Semantics.NAMECHECK
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if inside is not None and line == "```":
            yield Program(path, "\n".join(inside) + "\n", semantics, start)
            inside = None
        elif inside is not None:
            inside.append(line)
        elif line.startswith("```python"):
            word = line.removeprefix("```python").strip()
            inside, start = [], number
            semantics = Semantics(word) if word else Semantics.NAMECHECK


def differences(program: Program) -> list[str]:
    """Where findings and expectations of a program differ, each with its line, empty if nowhere."""
    told: list[str] = []
    left = list(program.findings)
    for expectation in program.expectations:
        met = next((f for f in left if expectation.met_by(f)), None)
        if met is None:
            told.append(_unmet(program, expectation, left))
        else:
            left.remove(met)
    told += [f"{program.show(finding)}\n  not expected" for finding in left]
    return told


def _unmet(program: Program, expectation: Expectation, left: Sequence[Finding]) -> str:
    here = [f for f in left if f.span.line == expectation.line]
    got = "; ".join(f"[{f.code}] {f.message}" for f in here) or "nothing"
    return f"{program.at(expectation.line)}\n  expected {expectation.show()}\n  got {got}"
