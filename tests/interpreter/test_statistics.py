"""How many tensor expressions have known names, and which calls lost them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.interpreter.workspace.statistics import Loss, Statistics
from namecheck.project import Walk, workers

PROGRAM = """\
import torch
from skimage import blend

def known(x):
    x = x.refine_names("N", "C")
    return x.sum("C")

def lost(x, y, shape):
    x = x.refine_names("N", "C")
    a = blend(x)
    b = blend(x, y)
    print(x)
    len(x)
    x.size("N")
    return x.reshape(shape)
"""


def counted(text: str, tmp_path: Path, name: str = "model.py") -> Statistics:
    path = tmp_path / name
    path.write_text(text)
    result = project.check(Walk().entries([str(path)]), counting=True)
    assert result.statistics is not None
    return result.statistics


def test_expressions_are_counted(tmp_path: Path) -> None:
    text = 'import torch\n\nx = torch.zeros(2, names=("N",))\ny = x + x\n'
    found = counted(text, tmp_path)
    assert found == Statistics(full=4)  # the call, x twice, their sum


def test_partly_and_not_at_all(tmp_path: Path) -> None:
    text = """\
import torch

def f(x: torch.Tensor, y):
    z = y.refine_names(..., "C")
    return x.relu(), z.relu()
"""
    found = counted(text, tmp_path)
    assert (found.full, found.part, found.none) == (0, 3, 2)
    assert not found.losses


def test_what_lost_names(tmp_path: Path) -> None:
    found = counted(PROGRAM, tmp_path)
    assert {word: (loss.times, loss.line) for word, loss in found.losses.items()} == {
        "blend()": (2, 10),
        "x.reshape()": (1, 15),
    }
    assert found.worst(1)[0][0] == "blend()"


def test_a_contradiction_is_no_loss(tmp_path: Path) -> None:
    text = 'import torch\nx = torch.zeros(2, names=("N",))\ny = x.sum("T")\n'
    assert not counted(text, tmp_path).losses


def test_of_several_files_they_are_added() -> None:
    one = Statistics(1, 2, 3, {"f()": Loss(2, "a.py", 7)})
    other = Statistics(10, 20, 30, {"f()": Loss(1, "b.py", 1), "g()": Loss(9, "b.py", 2)})
    both = one.joined(other)
    assert (both.full, both.part, both.none, both.total) == (11, 22, 33, 66)
    assert both.worst(10) == [("g()", Loss(9, "b.py", 2)), ("f()", Loss(3, "a.py", 7))]


def test_they_do_not_depend_on_order_or_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.py").write_text(PROGRAM)
    use = "import torch\nfrom model import lost\nlost(torch.zeros(2, 3), 1, (6,))\n"
    for n in range(3):
        (tmp_path / f"use{n}.py").write_text(use + "# names=()\n")
    entries = Walk().entries([str(tmp_path)])
    first = project.check(entries, counting=True).statistics
    assert project.check(entries[::-1], counting=True).statistics == first
    monkeypatch.setattr(workers, "WORTH_IT", 0)
    assert project.check(entries, jobs=2, counting=True).statistics == first


def test_they_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    counted(PROGRAM, tmp_path)
    assert main.main(["check", "--statistics"]) == 0
    out = capsys.readouterr().out
    shown = out.partition("All checks passed.\n\n")[2].splitlines()
    assert shown[0].endswith("tensor expressions in 1 file")
    assert [line.split()[0:3] for line in shown[1:4]] == [
        ["all", "names", "known"],
        ["some", "names", "known"],
        ["no", "name", "known"],
    ]
    assert shown[5:8] == [
        "Names were lost at",
        "  2 x  blend()      model.py:10",
        "  1 x  x.reshape()  model.py:15",
    ]
    main.main(["check", "--statistics", "--output-format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert told["findings"] == []
    numbers = told["statistics"]
    assert numbers["expressions"] == numbers["full"] + numbers["part"] + numbers["none"]
    assert numbers["losses"][0] == {
        "what": "blend()",
        "times": 2,
        "filename": "model.py",
        "row": 10,
    }


def test_limits_are_told_with_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"    t{n} = t{n - 1} + t{n - 1}\n" for n in range(1, 21))
    text = f'import torch\n\ndef f(x):\n    x.refine_names("N")\n    t0 = "a"\n{lines}'
    found = counted(text, tmp_path)
    assert {(limit.line, limit.function, limit.what) for limit in found.limits} == {
        (22, "f", "length of a string")
    }
    main.main(["check", "--statistics"])
    shown = capsys.readouterr().out.partition("Limits of the analysis were reached at\n")[2]
    place = "model.py:22 in f"
    assert shown == f"  1 x  length of a string  {place}: the value is unknown\n"
    main.main(["check", "--statistics", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["statistics"]["limits"] == [
        {
            "what": "length of a string",
            "times": 1,
            "filename": "model.py",
            "row": 22,
            "function": "f",
            "unjudged": "the value is unknown",
        }
    ]


def test_limits_of_several_files_are_added_over_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "".join("    t = t + t\n" for n in range(20))
    for n in range(3):
        text = f'import torch\n\ndef f(x):\n    x.refine_names("N")\n    t = "a"\n{body}'
        (tmp_path / f"model{n}.py").write_text(text)
    entries = Walk().entries([str(tmp_path)])
    first = project.check(entries, counting=True).statistics
    assert first is not None
    assert len(first.limits) == 3
    monkeypatch.setattr(workers, "WORTH_IT", 0)
    assert project.check(entries, jobs=2, counting=True).statistics == first


def test_a_project_without_tensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    assert main.main(["check", "--statistics"]) == 0
    assert capsys.readouterr().out.endswith("\n0 tensor expressions in 1 file\n")
