"""The command: its verbs and flags, its output, and its exit status."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from namecheck import reveal_names
from namecheck.cli import main
from namecheck.core.findings import register
from namecheck.interpreter.workspace import analysis
from namecheck.operators import table
from namecheck.version import VERSION, table_version
from tests import patience
from tests.running import Run, runner

ROOT: Final = Path(__file__).parents[2]

BAD: Final = """\
import torch

x = torch.zeros(2, 3, names=("N", "C"))
y = torch.zeros(2, 3, names=("N", "H"))
z = x + y
"""
NOTED: Final = """\
import torch
from namecheck import reveal_names

x = torch.zeros(2, 3, names=("N", "C"))
reveal_names(x)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a directory of its own, with bad.py, good.py and noted.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, text in (("bad.py", BAD), ("good.py", "x = 1\n"), ("noted.py", NOTED)):
        Path(name).write_text(text)
    return runner(capsys)


def process(
    argv: Sequence[str], *, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Runs the command in a process of its own."""
    return patience.run(
        [sys.executable, "-m", "namecheck", *argv],
        60,
        input=stdin,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_clean(run: Run) -> None:
    assert run("check", "good.py") == (0, "All checks passed.\n", "")


def test_found(run: Run) -> None:
    status, out, err = run("check", "bad.py")
    assert (status, err) == (1, "")
    assert out.startswith("NC101 name-mismatch: ")
    assert "\n --> bad.py:5:5\n" in out
    assert "5 | z = x + y\n" in out
    assert out.endswith("\nFound 1 error in 1 file.\n")


def test_a_note_is_no_fault(run: Run) -> None:
    status, out, _ = run("check", "noted.py", "--output-format", "concise")
    assert status == 0
    assert out.startswith("noted.py:5:1: NC090 revealed-names: ")
    assert "N=2 C=3" in out
    assert out.endswith("All checks passed. 1 note.\n")


def test_exit_zero(run: Run) -> None:
    status, out, _ = run("check", "bad.py", "--exit-zero")
    assert status == 0
    assert "NC101" in out


def test_the_default_is_the_project(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text('[tool.namecheck]\noutput-format = "concise"\n')
    Path("deep/er").mkdir(parents=True)
    assert "bad.py:5:5: NC101" in run("check")[1]
    monkeypatch.chdir("deep/er")
    assert f"{Path('../../bad.py')}:5:5: NC101" in run("check")[1]


def test_a_missing_path_is_told_and_the_rest_is_checked(run: Run) -> None:
    status, out, err = run("check", "nowhere", "bad.py")
    assert status == 2
    assert err == "namecheck: there is no nowhere\n"
    assert "NC101" in out


def test_nothing_to_check(run: Run) -> None:
    Path("empty").mkdir()
    assert run("check", "empty") == (
        0,
        "All checks passed.\n",
        "namecheck: no Python files found\n",
    )


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("chekc",),
        ("check", "--nonsense"),
        ("check", "--output-format", "xml"),
        ("check", "--semantics", "torch"),
        ("check", "--select", "NC9999", "good.py"),
        ("check", "--ignore", "nonsense", "good.py"),
        ("rule", "NC9999"),
        ("reveal",),
        ("reveal", "nowhere.py"),
    ],
)
def test_wrong_usage(run: Run, argv: tuple[str, ...]) -> None:
    status, out, err = run(*argv)
    assert status == 2
    assert "Traceback" not in out + err
    assert out + err


def test_wrong_settings(run: Run) -> None:
    Path("pyproject.toml").write_text("[tool.namecheck]\nselct = []\n")
    status, out, err = run("check", "good.py")
    assert (status, out) == (2, "")
    assert "pyproject.toml:2: [tool.namecheck] has an unknown key 'selct'" in err


def test_select_and_ignore(run: Run) -> None:
    assert run("check", "bad.py", "--select", "NC2,NC103")[0] == 0
    assert run("check", "bad.py", "--select", "name-mismatch")[0] == 1
    assert run("check", "bad.py", "--ignore", "NC1")[0] == 0


def test_semantics(run: Run) -> None:
    Path("permuted.py").write_text(register()["NC120"].bad)
    assert run("check", "permuted.py")[0] == 0
    status, out, _ = run("check", "permuted.py", "--semantics", "torch-2.12")
    assert status == 1
    assert "NC120" in out
    Path("pyproject.toml").write_text('[tool.namecheck]\nsemantics = "torch-2.12"\n')
    assert run("check", "permuted.py")[0] == 1


def test_json(run: Run) -> None:
    status, out, _ = run("check", "bad.py", "--output-format", "json")
    (found,) = json.loads(out)
    assert status == 1
    assert (found["code"], found["name"]) == ("NC101", "name-mismatch")
    assert found["filename"] == "bad.py"
    assert found["location"] == {"row": 5, "column": 5}
    assert found["end_location"] == {"row": 5, "column": 10}
    assert {place["location"]["row"] for place in found["related"]} == {3, 4}
    assert run("check", "good.py", "--output-format", "json") == (0, "[]\n", "")


def test_github(run: Run) -> None:
    _, out, _ = run("check", "bad.py", "--output-format", "github")
    assert out.startswith("::error title=namecheck (NC101),file=bad.py,line=5,")
    assert out.count("\n") == 1


def test_color(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("check", "bad.py")[1]
    assert "\x1b" in run("check", "bad.py", "--color", "always")[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b" in run("check", "bad.py")[1]
    assert "\x1b" not in run("check", "bad.py", "--color", "never")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("check", "bad.py")[1]
    assert "\x1b" in run("check", "bad.py", "--color", "always")[1]


class Piped:
    """A replacement of `sys.stdin`: a stream with a buffer."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(BAD.encode()))
    status, out, _ = run("check", "-")
    assert status == 1
    assert "--> <stdin>:5:5" in out
    assert "5 | z = x + y" in out
    Path("pyproject.toml").write_text('[tool.namecheck.per-file-ignores]\n"old/*" = ["NC101"]\n')
    monkeypatch.setattr(sys, "stdin", Piped(BAD.encode()))
    assert run("check", "-", "--stdin-filename", "old/x.py")[0] == 0
    monkeypatch.setattr(sys, "stdin", Piped(BAD.encode()))
    status, out, _ = run("check", "-", "--stdin-filename", "new/x.py")
    assert status == 1
    assert "--> new/x.py:5:5" in out


def test_an_internal_fault(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(*_: object, **__: object) -> None:
        raise KeyError("here")

    monkeypatch.setattr(analysis, "analysed", check)
    for flags in ((), ("--exit-zero",), ("--ignore", "ALL")):
        status, out, err = run("check", ".", *flags)
        assert (status, err) == (2, "")
        assert "NC005 internal-error: namecheck failed on this file: KeyError: 'here'" in out
        assert "bad.py" in out
    assert run("reveal", "bad.py")[0] == 2


def test_an_interruption(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "analysed", check)
    assert run("check", "bad.py") == (130, "", "\nInterrupted.\n")


def test_reveal(run: Run) -> None:
    status, out, _ = run("reveal", "bad.py")
    assert status == 0
    rows = [line.split("  ") for line in out.splitlines()]
    assert [rows[-2][0].strip(), rows[-2][-1]] == ["5:5", "N=2 C=3"]
    assert [" ".join(row).split()[1] for row in rows[-2:]] == ["x", "y"]
    _, out, _ = run("reveal", "bad.py", "--output-format", "json")
    assert json.loads(out)[-1] == {
        "filename": "bad.py",
        "location": {"row": 5, "column": 9},
        "end_location": {"row": 5, "column": 10},
        "source": "y",
        "dims": "N=2 H=3",
    }


def test_reveal_of_what_cannot_be_read(run: Run) -> None:
    Path("broken.py").write_text("def f(:\n")
    status, out, _ = run("reveal", "broken.py")
    assert status == 1
    assert "NC001" in out


def test_rule(run: Run) -> None:
    status, out, _ = run("rule")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == list(register())
    for word in ("NC101", "nc101", "name-mismatch"):
        out = run("rule", word)[1]
        assert out.startswith("NC101 name-mismatch (finding)\n")
        assert "\nBad:\n\n    import torch\n" in out
        assert "\nGood:\n\n    import torch\n" in out
    listed = json.loads(run("rule", "--output-format", "json")[1])
    assert [code["code"] for code in listed] == list(register())
    assert "did you mean 'name-mismatch'?" in run("rule", "name-mismach")[2]


def test_coverage(run: Run) -> None:
    status, out, _ = run("coverage")
    assert status == 0
    lines = out.splitlines()
    assert any(line.split()[:3] == ["add", "fmio", "unifies_names_from_inputs"] for line in lines)
    assert lines[-1].startswith(f"{len(table()):,} operators. ")
    data = json.loads(run("coverage", "--output-format", "json")[1])
    rows = {row["operator"]: row for row in data["operators"]}
    assert data["table"] == table_version()
    assert set(rows) == set(table())
    assert rows["add"]["forms"] == ["torch.add", "Tensor.add", "Tensor.add_", "out="]
    assert rows["add"]["rule"] == "unifies_names_from_inputs"
    assert (rows["add"]["native"], rows["permute"]["native"]) == ("yes", "no")
    assert {row["native"] for row in rows.values()} == {"yes", "partly", "no"}


def test_own_operators(run: Run) -> None:
    Path("pyproject.toml").write_text('[tool.namecheck]\nextend-operators = ["ops.toml"]\n')
    Path("ops.toml").write_text('[operators]\nadd = { forms = "fm", names = "unknown" }\n')
    assert run("check", "bad.py")[0] == 0
    listed = json.loads(run("coverage", "--output-format", "json")[1])["operators"]
    assert next(row["rule"] for row in listed if row["operator"] == "add") == "unknown"
    Path("ops.toml").write_text('[operators]\n\nadd = { forms = "fm", names = "nonsense" }\n')
    for verb in (["check", "bad.py"], ["reveal", "bad.py"], ["coverage"]):
        status, out, err = run(*verb)
        assert (status, out) == (2, "")
        assert "ops.toml:3: operator 'add', column 'names': there is no rule 'nonsense'" in err


def test_version(run: Run) -> None:
    status, out, _ = run("--version")
    assert status == 0
    assert out == f"namecheck {VERSION} (table of operators: version {table_version()})\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == VERSION
    text = (ROOT / "namecheck" / "operators" / "table.toml").read_text("utf-8")
    assert tomllib.loads(text)["version"] == table_version()


def test_as_a_process(tmp_path: Path) -> None:
    (tmp_path / "größe.py").write_text(BAD, encoding="utf-8")
    ran = process(["check", "."], cwd=tmp_path)
    assert ran.returncode == 1
    assert "größe.py:5:5" in ran.stdout.decode()
    assert process(["check", "-"], stdin=BAD.encode(), cwd=tmp_path).returncode == 1


def test_a_pipe_that_is_closed_early(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BAD * 1_000)
    shell = f"{sys.executable} -m namecheck coverage | head -1"
    ran = subprocess.run(
        shell,
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        check=False,
    )
    assert ran.stderr == ""
    assert len(ran.stdout.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_interrupted_from_outside(tmp_path: Path) -> None:
    # A process that a shell starts in the background ignores the signal, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = subprocess.Popen(
        [sys.executable, "-m", "namecheck", "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )
    signal.signal(signal.SIGINT, before)
    assert command.stdin is not None
    command.stdin.write(b"#" * (1 << 20))  # returns when all but a part was read: it is running
    command.stdin.flush()
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=300)
    assert (command.returncode, out, err) == (130, b"", b"\nInterrupted.\n")


class Tensor:
    names = ("N", None)
    shape = (2, 3)


def test_reveal_names_prints_and_returns(capsys: pytest.CaptureFixture[str]) -> None:
    tensor = Tensor()
    assert reveal_names(tensor) is tensor
    assert capsys.readouterr().out == "revealed: N=2 _=3\n"


def test_a_missing_path_is_no_check_that_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["check", "no_such_file.py"]) == 2
    printed = capsys.readouterr()
    assert "passed" not in printed.out
    assert "there is no no_such_file.py" in printed.err


PLAIN: Final = """\
import torch

def swap(x):
    B, C = x.shape
    return x.view(B, C)
"""


@pytest.mark.parametrize(
    ("files", "flags", "advises"),
    [
        ({"plain.py": PLAIN}, (), True),
        ({"plain.py": PLAIN}, ("--evidence", "observed"), False),
        ({"plain.py": PLAIN}, ("--output-format", "concise"), False),
        ({"plain.py": PLAIN, "noted.py": NOTED}, (), False),
        ({"good.py": "x = 1\n"}, (), False),
    ],
)
def test_says_what_names_dims_where_nothing_does(
    run: Run, files: dict[str, str], flags: tuple[str, ...], advises: bool
) -> None:
    """All checks pass in plain code, as none is made."""
    for name, text in files.items():
        Path(name).write_text(text)
    _, _, errors = run("check", "--no-cache", *flags, *files)
    assert ("--evidence observed" in errors) is advises
