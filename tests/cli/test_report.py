"""``namecheck report``: its messages, its exit codes, and the folders that it takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.running import Run, runner


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a folder with one file, which has a finding."""
    monkeypatch.chdir(tmp_path)
    program = 'import torch\nx = torch.ones(2, names=("N",)) + torch.ones(2, names=("C",))\n'
    Path("model.py").write_text(program)
    return runner(capsys)


def test_findings_are_no_failure(run: Run) -> None:
    index = str(Path("out", "index.html"))
    assert run("report", "model.py", "--html", "out") == (
        0,
        f"Found 1 error in 1 file. 1 page written: {index}\n",
        "",
    )
    names = sorted(path.as_posix() for path in Path("out").rglob("*") if path.is_file())
    assert [name for name in names if not name.startswith("out/files/")] == [
        "out/assets/icon.svg",
        "out/assets/report.css",
        "out/assets/report.js",
        "out/assets/theme.js",
        "out/findings.html",
        "out/functions.html",
        "out/index.html",
    ]


def test_by_default_it_is_the_whole_project(run: Run) -> None:
    Path("pyproject.toml").touch()
    assert run("report", "--html", "out")[:2] == (
        0,
        f"Found 1 error in 1 file. 1 page written: {Path('out', 'index.html')}\n",
    )


@pytest.mark.parametrize("missing", [["jinja2"], ["pygments"], ["jinja2", "pygments"]])
def test_without_its_packages(
    run: Run, monkeypatch: pytest.MonkeyPatch, missing: list[str]
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    install = "pip install 'torch-namecheck[report]'"
    message = f"namecheck: a report needs {' and '.join(missing)}: {install}\n"
    assert run("report", "model.py", "--html", "out") == (2, "", message)
    assert not Path("out").exists()


def test_the_folder_must_be_named(run: Run) -> None:
    status, _, err = run("report", "model.py")
    assert status == 2
    assert "the following arguments are required: --html" in err


def test_a_folder_with_other_files_is_not_taken(run: Run) -> None:
    Path("mine").mkdir()
    Path("mine/index.html").write_text("<p>mine</p>")
    status, out, err = run("report", "model.py", "--html", "mine")
    assert (status, out) == (2, "")
    assert err.startswith("namecheck: --html: not written: mine: it has other files, and no report")
    assert [path.name for path in Path("mine").iterdir()] == ["index.html"]


def test_a_file_is_no_folder(run: Run) -> None:
    status, out, err = run("report", "model.py", "--html", "model.py")
    assert (status, out) == (2, "")
    assert err.startswith("namecheck: --html: not written: model.py: ")


def test_no_link_leads_out_of_the_folder(run: Run) -> None:
    assert run("report", "model.py", "--html", "out")[0] == 0
    Path("elsewhere").mkdir()
    for path in Path("out/files").iterdir():
        path.unlink()
    Path("out/files").rmdir()
    Path("out/files").symlink_to(Path("elsewhere").resolve())
    status, _, err = run("report", "model.py", "--html", "out")
    assert status == 2
    assert "it leads out of the folder of the report" in err
    assert not [*Path("elsewhere").iterdir()]


def test_missing_paths(run: Run) -> None:
    status, out, err = run("report", "model.py", "nowhere.py", "--html", "out")
    assert (status, err) == (2, "namecheck: there is no nowhere.py\n")
    assert "1 page written" in out
    assert run("report", "nowhere.py", "--html", "other") == (
        2,
        "",
        "namecheck: there is no nowhere.py\nnamecheck: no Python files found\n",
    )


def test_evidence_and_semantics(run: Run) -> None:
    plain = "import torch\n\n\ndef f(x):\n    b, c = x.shape\n    return x.sum(0) + x.sum(1)\n"
    Path("model.py").write_text(plain)
    assert run("report", "model.py", "--html", "out")[1].startswith("All checks passed.")
    out = run("report", "model.py", "--html", "out", "--evidence", "observed")[1]
    assert out.startswith("Found 1 error in 1 file.")
