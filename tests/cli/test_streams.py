"""Standard streams that are closed, full or broken, and errors: one line, and never status 1."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from namecheck.cli import main
from namecheck.project import file_check
from tests import patience

ROOT: Final = Path(__file__).parents[2]
COMMAND: Final = (sys.executable, "-P", "-m", "namecheck")
BAD: Final = 'import torch\n\nx = torch.ones(2, 3, names=("N", "C"))\nx + x.sum("C")\n'

VERBS: Final = (
    ["--version"],
    ["check", "--no-cache", "bad.py"],
    ["check", "--no-cache", "--diff", "--unsafe-fixes", "bad.py"],
    ["check", "--no-cache", "--output-format", "json", "bad.py"],
    ["coverage"],
    ["migrate", "--check", "bad.py"],
    ["reveal", "bad.py"],
    ["rule", "NC101"],
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one bad file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


def shell(arguments: Sequence[str], redirection: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with a redirection of the shell."""
    return patience.run(
        [*("bash", "-c", f'set -o pipefail; "$@" {redirection}', "-"), *COMMAND, *arguments],
        60,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_an_output_that_is_full_or_closed(arguments: list[str]) -> None:
    closed = shell(arguments, ">&-")
    assert (closed.returncode, closed.stderr) == (2, "namecheck: standard output is closed\n")
    full = shell(arguments, "> /dev/full")
    error = full.stderr.splitlines()[-1]
    assert error == "namecheck: standard output: No space left on device"
    assert full.returncode == 2
    assert "Traceback" not in full.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_help_text_that_cannot_be_written(
    unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a buffer argparse itself would hide the error.
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    for arguments in ([], ["--help"], ["check", "--help"]):
        full = shell(arguments, "> /dev/full")
        error = "namecheck: standard output: No space left on device\n"
        assert (full.returncode, full.stderr) == (2, error)


def test_an_output_that_nobody_reads_any_more(folder: Path) -> None:
    # More than a pipe holds, so that the command must write after its reader has ended.
    many = BAD + BAD.splitlines(keepends=True)[-1] * 30
    for name in range(200):
        (folder / f"bad{name}.py").write_text(many)
    broken = shell(["check", "--no-cache", "--output-format", "concise", "."], "| head -c 1")
    assert (broken.returncode, broken.stderr) == (2, "")


@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        ("<&-", "standard input is closed"),
        ("< /dev/zero", "standard input has more than 10,000,000 bytes"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "reveal"])
def test_an_input_that_cannot_be_read(verb: str, redirection: str, message: str) -> None:
    ran = shell([verb, "-"], redirection)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"namecheck: {message}\n")


def test_without_standard_input_files_are_checked() -> None:
    assert shell(["check", "bad.py"], "<&-").returncode == 1


def test_messages_are_lost_with_standard_error_and_do_not_reach_the_output() -> None:
    ran = shell(["check", "--output-format", "json", "bad.py", "gone.py"], "2>&-")
    assert (ran.returncode, ran.stdout[:3]) == (2, "[\n ")
    assert ran.stdout.rstrip().endswith("]")
    assert shell(["check", "bad.py", "gone.py"], "2> /dev/full").returncode == 2


def test_a_closed_stream_is_not_the_next_file() -> None:
    """Else the cache would be the file that messages are written to."""
    for redirection in ("2>&-", "<&-"):
        assert shell(["check", "bad.py", "gone.py"], redirection).returncode == 2
    assert shell(["check", "bad.py"], "").stderr == ""


def test_a_working_folder_that_is_gone(folder: Path) -> None:
    (folder / "gone").mkdir()
    ran = patience.run(
        ["bash", "-c", 'cd gone; rmdir ../gone; "$@"', "-", *COMMAND, "check"],
        60,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("namecheck: ")
    assert ran.stderr.count("\n") == 1


def test_a_fault_of_namecheck_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reveal(*_: object) -> None:
        raise KeyError("here")

    monkeypatch.setattr(file_check, "reveal", reveal)
    assert main.main(["reveal", "bad.py"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert error.endswith(
        "KeyError: 'here'\nnamecheck: this is a fault of namecheck; please report it\n"
    )
