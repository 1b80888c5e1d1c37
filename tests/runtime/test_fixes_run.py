"""Fixed programs run: the shim raises no error any more at the place of the finding."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from namecheck import project
from namecheck.editing.documents import Document
from namecheck.editing.edits import applied
from namecheck.fixing import offers
from namecheck.project import Entry
from namecheck.project.settings import Settings
from tests import warm
from tests.fixes.programs import PROGRAMS, FixedProgram
from tests.fixture_reader import FIXTURES, Program, pairs
from tests.runtime.fixture_runner import run

INSTALLING = next(one for one in PROGRAMS if one.code == "NC701")
FIXED = [one for one in PROGRAMS if one.code != "NC701"]
BUGS = [pair.bug for pair in pairs("programs")][::5]


def raised(program: Program) -> list[str]:
    """The errors of a program, statement by statement."""
    return [error.show() for error in run(program, "cpu").raised]


def is_raised_by_torch(program: FixedProgram) -> bool:
    """Whether the program calls its functions, and fails on torch, not only by annotations."""
    return program.safe and program.code != "NC010" and "print(" in program.before


@pytest.mark.parametrize("program", FIXED, ids=lambda program: program.name)
def test_a_fixed_program_raises_nothing(program: FixedProgram) -> None:
    if is_raised_by_torch(program):
        assert raised(Program(program.path, program.before, program.semantics))
    if program.code != "NC010":  # a suppressed contradiction is raised nevertheless
        assert not raised(Program(program.path, program.after, program.semantics))


def test_a_program_that_gets_its_install_runs(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(FIXTURES.parent)}
    path = tmp_path / "program.py"
    for text, status in ((INSTALLING.before, 1), (INSTALLING.after, 0)):
        path.write_text(text)
        ran = warm.run("-W", "ignore", str(path), cwd=tmp_path, env=environment)
        assert ran.returncode == status, ran.stderr


def test_every_fix_lets_a_program_run_further() -> None:
    tried = 0
    for program in BUGS:
        location = str(program.path)
        found = Settings(str(program.path.parent), program.semantics)
        entry = Entry(location, location, found, len(program.text), True)
        findings = project.check([entry], jobs=1).findings
        data = program.path.read_bytes()
        for fix in offers.offer([entry], findings, 10**9).fixes.values():
            text = applied(Document.of(data, location), fix.edits).text
            before, after = raised(program), raised(replace(program, text=text))
            assert len(after) < len(before), f"{location}: {fix.message}\n{after}"
            tried += 1
    assert tried > 20
