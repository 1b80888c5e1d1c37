"""What fixes make of programs runs: the shim raises nothing any more where the finding stood."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from namecheck import project
from namecheck.core.semantics import Semantics
from namecheck.editing.documents import Document
from namecheck.editing.edits import applied
from namecheck.fixing import offers
from namecheck.project import Entry
from namecheck.project.settings import Settings
from tests.fixture_reader import FIXTURES, Program, pairs
from tests.runtime.fixture_runner import run

INSTALLING = FIXTURES / "fixes" / "install_names.fixed.py"
FIXED = sorted({*(FIXTURES / "fixes").glob("*.fixed.py")} - {INSTALLING})
BUGS = [pair.bug for pair in pairs("programs")][::5]


def program_of(path: Path) -> Program:
    text = path.read_text("utf-8")
    native = "# semantics: torch-2.12\n" in text
    return Program(path, text, Semantics.NATIVE if native else Semantics.NAMECHECK)


def raised(program: Program) -> list[str]:
    """What running a program raises, statement by statement."""
    return [error.show() for error in run(program, "cpu").raised]


def is_raised_by_torch(program: Program) -> bool:
    """Whether the program calls what it defines, and needs more than annotations to fail."""
    told = program.text.splitlines()
    return "# fix: safe" in told and "# code: NC010" not in told and "print(" in program.text


@pytest.mark.parametrize("path", FIXED, ids=lambda path: path.name)
def test_a_fixed_program_raises_nothing(path: Path) -> None:
    before = program_of(path.with_name(path.name.replace(".fixed.py", ".py")))
    if is_raised_by_torch(before):
        assert raised(before)
    if "# code: NC010" not in before.text:  # what is suppressed is raised all the same
        assert not raised(program_of(path))


def test_a_program_that_gets_its_install_runs() -> None:
    environment = os.environ | {"PYTHONPATH": str(FIXTURES.parent)}
    before = INSTALLING.with_name(INSTALLING.name.replace(".fixed.py", ".py"))
    command = [sys.executable, "-W", "ignore"]
    for path, status in ((before, 1), (INSTALLING, 0)):
        ran = subprocess.run(
            [*command, str(path)], env=environment, capture_output=True, check=False
        )
        assert ran.returncode == status, ran.stderr.decode()


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
