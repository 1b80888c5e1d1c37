"""The programs of docs/runtime-assertions.md: a line raises the error in its comment, or none."""

from __future__ import annotations

import ast
from typing import Any

import pytest

import namecheck
from namecheck import NameMismatch
from tests.docs_pages import DOCS
from tests.fixture_reader import Program, blocks

PROGRAMS = list(blocks(DOCS / "runtime-assertions.md"))


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 3


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"line {program.offset}")
def test_a_program_does_what_its_comments_say(program: Program) -> None:
    scope: dict[str, Any] = {}
    try:
        for statement in ast.parse(program.text).body:
            _, marked, told = program.lines[statement.lineno - 1].partition("# raises: ")
            code = compile(ast.Module([statement], []), str(program.path), "exec")
            if marked:
                with pytest.raises(NameMismatch) as raised:
                    exec(code, scope)
                assert told in str(raised.value).partition("\n")[0]
            else:
                exec(code, scope)
    finally:
        if namecheck.installed():
            namecheck.uninstall()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"line {program.offset}")
def test_the_linter_finds_what_is_raised(program: Program) -> None:
    told = [
        (number, line.partition("# raises: ")[2])
        for number, line in enumerate(program.lines, 1)
        if "# raises: " in line
    ]
    found = [(finding.span.line, finding.message.splitlines()[0]) for finding in program.findings]
    assert [line for line, _ in found] == [line for line, _ in told], found
    for (_, message), (_, words) in zip(found, told, strict=True):
        assert words in message
