"""The pytest plugin, in runs of pytest of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests import warm

ROOT: Final = Path(__file__).parents[2]

Run = Callable[..., subprocess.CompletedProcess[str]]

CONFTEST: Final = """
    from torch import sum as total_of
"""
LIBRARY: Final = """
    from typing import Annotated
    from torch import Tensor

    def total(x: Annotated[Tensor, "n"]) -> None: ...
"""
TESTS: Final = """
    import torch
    from conftest import total_of
    from library import total

    def test_names():
        x = torch.zeros(2, 3, names=("N", "C"))
        assert total_of(x, "N").names == ("C",)

    def test_annotated():
        total(torch.zeros(2, 3))

    def test_operator():
        x = torch.zeros(2, 2, names=("N", "C"))
        x.sum("N") + x.sum("C")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with these tests."""
    for name, text in [("conftest", CONFTEST), ("library", LIBRARY), ("test_it", TESTS)]:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs pytest on the folder."""

    def executed(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words(options)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env=variables(environment),
        )

    return executed


@pytest.fixture
def run_with_torch(folder: Path) -> Run:
    """The same in a process that has torch already."""

    def executed(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return warm.run(*words(options), cwd=folder, env=variables(environment))

    return executed


def words(options: Sequence[str]) -> list[str]:
    # By name, whether or not this package is installed: not by its entry point as well.
    plugin = ["-p", "namecheck.pytest_plugin", "-p", "no:cacheprovider"]
    return ["-m", "pytest", *plugin, *options]


def variables(added: Mapping[str, str]) -> dict[str, str]:
    alone = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    return {**os.environ, **alone, **added}


def test_a_contradiction_fails_the_test_at_its_own_line(run: Run) -> None:
    finished = run("--namecheck", "--namecheck-packages=library")
    assert "namecheck: error, functions of library\n" in finished.stdout
    assert "1 passed" in finished.stdout
    assert "2 failed" in finished.stdout
    assert (
        "    def test_annotated():\n"
        ">       total(torch.zeros(2, 3))\n"
        "E       namecheck.NameMismatch: total(): argument 'x' has 2 dimensions, but 1 is declared"
    ) in finished.stdout
    assert '>       x.sum("N") + x.sum("C")\nE       namecheck.NameMismatch: ' in finished.stdout
    assert "test_it.py:11: NameMismatch" in finished.stdout


def test_warnings_are_told_at_the_end(run_with_torch: Run, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nnamecheck = warn\nnamecheck_packages = library other\n"
    )
    finished = run_with_torch()
    assert finished.returncode == 0
    told = finished.stdout.partition("= namecheck =")[2]
    assert "namecheck: 2 findings, met 2 times.\n" in told
    assert f"1 x {tmp_path / 'test_it.py'}:11:5: NC211 declared-rank: total()" in told
    assert "NC101 name-mismatch" in told
    finished = run_with_torch("--namecheck=off", "-k", "annotated")
    assert finished.returncode == 0
    assert "namecheck" not in finished.stdout.partition("collected")[2]


def test_the_environment_switches_checks_off(run_with_torch: Run) -> None:
    finished = run_with_torch("--namecheck", NAMECHECK="off")
    assert finished.returncode == 0
    assert "namecheck: off by the environment" in finished.stdout


def test_without_the_option_torch_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it(): assert 'torch' not in sys.modules\n"
    )
    assert run().returncode == 0


def test_a_mode_that_does_not_exist(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nnamecheck = loud\n")
    assert "one of error, warn, off is wanted, not 'loud'" in run().stderr
    assert "invalid choice: 'test_it.py'" in run("--namecheck", "test_it.py").stderr


def test_without_torch(run: Run, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(name='torch')")
    finished = run("--namecheck", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert finished.stderr == "ERROR: namecheck: torch is not installed\n\n"


def test_it_is_registered_with_pytest() -> None:
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert declared["entry-points"]["pytest11"] == {"namecheck": "namecheck.pytest_plugin"}
