"""All analyses of a file by a migration take their steps from one purse; then it is left alone."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path
from typing import Final

import pytest

from namecheck.core.faults import Exhausted
from namecheck.editing.documents import Document
from namecheck.interpreter.domain import meter
from namecheck.interpreter.domain.meter import Meter, Purse
from namecheck.interpreter.workspace import assembly
from namecheck.migration.expenses import depths, pay_for_tree
from tests.running import Run, runner

PROGRAM: Final = """\
import torch

x = torch.ones(2, 3, names=("N", "C"))
print(x.sum("C"))
"""
# Each line costs some forty steps.
COSTLY: Final = PROGRAM + "x.exp().relu()\n" * 1_000
REASON: Final = "its analysis takes more steps than it may"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(meter, "_LINE", 0)
    (tmp_path / "costly.py").write_text(COSTLY)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``migrate``."""
    return runner(capsys, "migrate")


def limit(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the steps that a file may cost."""
    for name in ("_WHOLE", "_MOST", "_LEAST", "_PART"):
        monkeypatch.setattr(meter, name, steps)


# Fewer than one analysis needs; than both that observe the file; than these and libcst's tree; than
# these and one that looks for findings.
@pytest.mark.parametrize("steps", [10_000, 60_000, 200_000, 330_000])
def test_a_file_that_costs_too_much_is_left_as_it_is(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    limit(steps, monkeypatch)
    status, out, _ = run("costly.py", "program.py", "--to", "torch")
    assert (status, out) == (
        2,
        f"costly.py: not migrated: {REASON}\n"
        "Rewrote 2 places in 1 file; 1 file could not be migrated.\n",
    )
    assert (folder / "costly.py").read_text() == COSTLY
    assert "names" not in (folder / "program.py").read_text()


def test_a_file_that_costs_less_is_migrated(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(900_000, monkeypatch)
    assert run("costly.py", "--to", "torch") == (0, "Rewrote 2 places in 1 file.\n", "")
    assert "names" not in (folder / "costly.py").read_text()


@pytest.mark.parametrize("target", ["torch", "namecheck"])
def test_all_analyses_together_cost_no_more_than_one_may(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    meters: list[Meter] = []

    class Counted(Meter):
        __slots__ = ()

        def __init__(self, text: str, purse: Purse | None, *, is_program: bool) -> None:
            super().__init__(text, purse, is_program=is_program)
            meters.append(self)

    monkeypatch.setattr(assembly, "Meter", Counted)
    limit(50_000, monkeypatch)
    run("costly.py", "--to", target, "--unsafe-fixes")
    assert meters
    assert sum(each.spent for each in meters) < 52_000


def test_names_are_installed_where_a_part_of_a_file_is_not_analysed(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(10_000, monkeypatch)
    status, out, _ = run("costly.py")
    assert (status, out) == (
        0,
        f"costly.py: not analysed to its end: {REASON}\nRewrote 1 place in 1 file.\n",
    )
    assert "namecheck.install()" in (folder / "costly.py").read_text()


def test_a_file_that_may_start_a_program_could_not_be_migrated(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(10_000, monkeypatch)
    head, costly = "import torch\ny = torch.ones(2)\n", "y.exp().relu()\n" * 1_000
    (folder / "costly.py").write_text(f"{head}{costly}{PROGRAM}")
    status, out, _ = run("costly.py", "--check")
    assert status == 2
    assert out.startswith(f"costly.py: not migrated: {REASON}\n")


def test_it_is_told_in_json(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(10_000, monkeypatch)
    told = []
    for target in ("torch", "namecheck"):
        _, out, _ = run("costly.py", "--check", "--to", target, "--output-format", "json")
        (file,) = json.loads(out)["files"]
        told.append((file["failure"], file["unfinished"], file["changed"]))
    assert told == [(REASON, None, False), (None, REASON, True)]


def test_what_is_nested_too_deeply_for_libcst_is_left_as_it_is(folder: Path, run: Run) -> None:
    """It parses calls of the results of calls in time that grows with the square of the depth."""
    (folder / "program.py").write_text(f"{PROGRAM}x{'(x)' * 1_500}\n")
    begin = time.process_time()
    status, out, _ = run("program.py", "--to", "torch")
    assert time.process_time() - begin < 4
    assert (status, out.splitlines()[0]) == (2, f"program.py: not migrated: {REASON}")


def test_what_is_nested_deeply_is_migrated(folder: Path, run: Run) -> None:
    (folder / "program.py").write_text(f"{PROGRAM}len{'(x)' * 500}\n")
    assert run("program.py", "--to", "torch")[0] == 0
    assert "names" not in (folder / "program.py").read_text()


def test_the_depths_of_expressions() -> None:
    assert sorted(depths(ast.parse("x\ny.a\nif z: f(g(1))"))) == [2, 2, 3, 4]


@pytest.mark.parametrize("text", ["x.y\n" * 60_000, f"{'f(' * 150}{')' * 150}\n" * 80])
def test_libcst_parses_no_text_that_takes_it_long(text: str) -> None:
    document = Document.of(text.encode(), "long.py")
    with pytest.raises(Exhausted):
        pay_for_tree(document, Purse.of_again(text))
