"""``namecheck migrate``: its output, the files it writes, and its exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from namecheck.editing import documents
from tests.running import Run, runner

PROGRAM: Final = """\
import torch

x = torch.ones(2, 3, names=("N", "C"))
print(x.sum("C"))
"""
LEFT: Final = """\
import torch


def f(x, dim):
    return x.sum(dim)


x = torch.ones(2, 3, names=("N", "C"))
f(x, "N"), f(x.align_to("C", "N"), "N")
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``migrate``."""
    return runner(capsys, "migrate")


def test_to_torch(program: Path, run: Run) -> None:
    status, out, _ = run("program.py", "--to", "torch")
    assert (status, out) == (0, "Rewrote 2 places in 1 file.\n")
    assert program.read_text() == (
        "from typing import Annotated\n\n"
        "import torch\n\n"
        'x: Annotated[torch.Tensor, "N C"] = torch.ones(2, 3)\n'
        "print(x.sum(1))\n"
    )
    assert run("program.py", "--to", "torch") == (0, "Nothing to migrate.\n", "")


def test_to_namecheck_is_the_default(program: Path, run: Run) -> None:
    status, out, _ = run("program.py")
    assert (status, out) == (0, "Rewrote 1 place in 1 file.\n")
    head, _, tail = PROGRAM.partition("\n")
    assert program.read_text() == f"{head}\nimport namecheck\n\nnamecheck.install()\n{tail}"
    assert run("program.py") == (0, "Nothing to migrate.\n", "")


def test_a_diff_writes_nothing(program: Path, run: Run) -> None:
    status, out, err = run("program.py", "--to", "torch", "--diff")
    assert status == 1
    assert out.startswith("--- a/program.py\n+++ b/program.py\n@@ -1,4 +1,6 @@\n")
    assert err == "Would rewrite 2 places in 1 file.\n"
    assert program.read_text() == PROGRAM


def test_a_check_writes_nothing(program: Path, run: Run) -> None:
    status, out, _ = run("program.py", "--to", "torch", "--check")
    assert (status, out) == (1, "Would rewrite 2 places in 1 file.\n")
    assert program.read_text() == PROGRAM


def test_a_file_that_others_import_installs_where_none_has(program: Path, run: Run) -> None:
    """Two calls in one process would be an error, and each file may be the program."""
    constants = program.parent / "constants.py"
    constants.write_text('import torch\n\nMEAN = torch.ones(2, names=("C",))\n')
    program.write_text("from constants import MEAN\n\nprint(MEAN.names)\n")
    assert run("program.py", "constants.py") == (0, "Rewrote 2 places in 2 files.\n", "")
    assert program.read_text() == (
        "import namecheck\n\nnamecheck.install()\n\n"
        "from constants import MEAN\n\nprint(MEAN.names)\n"
    )
    assert constants.read_text() == (
        "import torch\nimport namecheck\n\nif not namecheck.installed():\n    namecheck.install()\n"
        '\nMEAN = torch.ones(2, names=("C",))\n'
    )
    assert run("program.py", "constants.py") == (0, "Nothing to migrate.\n", "")


def test_what_is_left(program: Path, run: Run) -> None:
    program.write_text(LEFT)
    status, out, _ = run("program.py", "--to", "torch")
    assert status == 1
    assert out == (
        "program.py:5:12: left `x.sum(dim)`: it is reached with several layouts: N C; C N\n"
        "Rewrote 2 places in 1 file; left 1 place.\n"
        "This does not run yet: what is left uses names that torch 2.13 lacks.\n"
        "  program.py:7: write one function for each, or the index instead of the name\n"
        "Then migrate again.\n"
        "To undo it you need a copy: namecheck keeps none (--all-or-nothing, --check).\n"
    )


def test_a_partial_result_says_what_to_do(program: Path, run: Run) -> None:
    program.write_text(LEFT + '"""a"""\ny = f(x.unknown(), x.align_as(x.thing())).sum("N")\n')
    status, out, _ = run("program.py", "--to", "torch")
    assert status == 1
    lines = program.read_text().splitlines()
    places = [line.strip() for line in out.splitlines() if line.startswith("  program.py:")]
    assert places
    numbers = [int(place.split(":")[1]) for place in places]
    assert "x.sum(dim)" in lines[numbers[0] - 1], "the line is that of the file as it is now"
    assert "This does not run yet" in out
    assert "To undo it you need a copy" in out
    (program.parent / ".git").mkdir()
    program.write_text(LEFT)
    assert run("program.py", "--to", "torch")[1].endswith(
        "This does not run yet: what is left uses names that torch 2.13 lacks.\n"
        "  program.py:7: write one function for each, or the index instead of the name\n"
        "Then migrate again.\n"
        "To undo it, if it was committed before: git restore -- program.py\n"
    )


def test_what_is_left_is_told_before_anything_is_written(
    program: Path, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(LEFT)
    printed: list[str] = []

    def change(location: str, *_: object, **__: object) -> str:
        printed.append(capsys.readouterr().out)
        return location

    monkeypatch.setattr(documents, "change", change)
    run("program.py", "--to", "torch")
    [before] = printed
    assert before.startswith("program.py:5:12: left `x.sum(dim)`")


@pytest.mark.parametrize("road", ["torch", "namecheck"])
def test_all_or_nothing(program: Path, run: Run, road: str) -> None:
    (program.parent / "left.py").write_text(LEFT)
    (program.parent / "broken.py").write_text("x = torch.ones(2, names=('N',)")
    flags = ("--to", road, "--all-or-nothing")
    status, out, _ = run("program.py", "left.py", *flags)
    if road == "torch":
        assert status == 1
        assert out.endswith("Nothing was written (--all-or-nothing): 1 place would be left.\n")
        assert (program.read_text(), Path("left.py").read_text()) == (PROGRAM, LEFT)
        assert run("program.py", *flags)[0] == 0
        assert program.read_text() != PROGRAM
    else:
        assert status == 0
        assert program.read_text() != PROGRAM
    program.write_text(PROGRAM)
    status, out, _ = run("program.py", "broken.py", *flags)
    last = "Nothing was written (--all-or-nothing): 1 file could not be migrated.\n"
    assert (status, program.read_text()) == (2, PROGRAM)
    assert out.endswith(last)
    status, out, _ = run("program.py", "broken.py", *flags, "--format", "json")
    assert (status, json.loads(out)["written"], program.read_text()) == (2, False, PROGRAM)


UNSETTLED: Final = """\
import torch


def f(x, options):
    x = x.refine_names("N", "C")
    return x * x.mean("N").align_as(x)


class Scale:
    def __init__(self, w):
        self.w = w.refine_names("C")

    def scaled(self, x):{first}
        return (x * self.w).sum("C") + self.w.align_as(x).sum("C")

    def again(self, x):{second}
        y = x.sum("C")
        return self.w.sum("C") * y.align_as(x)
"""


def test_what_is_asked_for_settles_a_place_after_a_partial_run_as_before_it(
    program: Path, run: Run
) -> None:
    refined = '\n        x = x.refine_names("N", "C")'
    program.write_text(UNSETTLED.format(first=refined, second=refined))
    assert run("program.py", "--to", "torch")[0] == 0
    whole = program.read_text()

    program.write_text(UNSETTLED.format(first="", second=""))
    status, out, _ = run("program.py", "--to", "torch")
    assert (status, out.count("`x = x.refine_names(…)`")) == (1, 3)
    partial = program.read_text()
    program.write_text(partial.replace("(self, x):", f"(self, x):{refined}"))
    assert run("program.py", "--to", "torch")[:2] == (0, "Rewrote 6 places in 1 file.\n")
    # The partial run has counted a dim from the right, as it did not know the first operand.
    assert program.read_text().replace("sum(-1)", "sum(1)") == whole


def test_what_is_left_is_told_again(program: Path, run: Run) -> None:
    """Annotations have the names by now; other objects with these attribute names are ignored."""
    program.write_text(f"{LEFT}\n\ndef show(x, data):\n    print(x, data.names)\n\nshow(x, f)\n")
    assert run("program.py", "--to", "torch")[0] == 1
    left = "program.py:7:12: left `x.sum(dim)`: it is reached with several layouts: N C; C N\n"
    for _ in range(2):
        status, out, _ = run("program.py", "--to", "torch")
        assert (status, out) == (1, f"{left}Rewrote nothing; left 1 place.\n")
    program.write_text(program.read_text().replace(', f(x.permute(1, 0), "N")', ""))
    assert run("program.py", "--to", "torch")[:2] == (0, "Rewrote 1 place in 1 file.\n")
    assert "return x.sum(0)\n" in program.read_text()
    assert run("program.py", "--to", "torch")[:2] == (0, "Nothing to migrate.\n")


def test_names_that_went_are_not_taken_for_none(program: Path, run: Run) -> None:
    program.write_text(
        "import torch\n\ntotal = torch.zeros(2, names=('N',))\n"
        "rows = [torch.rand(2, 2, names=('N', 'C')), torch.rand(2, 2, names=('N', 'T'))]\n"
        "for row in rows:\n    print(row.names, total)\n"
    )
    left = run("program.py", "--to", "torch")[1]
    assert "program.py:6:11: left `row.names`: it is reached with several layouts" in left
    text = program.read_text()
    status, out, _ = run("program.py", "--to", "torch")
    assert status == 1
    assert "program.py:8:11: left `row.names`: an earlier run removed its names" in out
    assert program.read_text() == text


def test_what_is_left_is_told_of_a_file_that_cannot_be_migrated(program: Path, run: Run) -> None:
    """The remaining order of dims causes findings elsewhere: the file is not changed."""
    text = (
        "import torch\n\n\ndef first(x):\n    return x.align_to('C', ...)[0]\n\n\n"
        "first(torch.ones((2,), names=('N',)))\n"
        "x = first(torch.ones((1, 2, 3), names=('D', 'N', 'C'))).sum('D')\n"
        "if x.dim() == 2:\n    x.expand(4)\n"
    )
    program.write_text(text)
    status, out, _ = run("program.py", "--to", "torch")
    assert status == 2
    assert "not migrated: the result would have new findings: NC207 at `x.expand(4)`" in out
    assert "program.py:5:12: left `x.align_to('C', ...)`: it is reached with several layouts" in out
    assert program.read_text() == text


def test_json(program: Path, run: Run) -> None:
    program.write_text(LEFT)
    status, out, _ = run("program.py", "--to", "torch", "--check", "--format", "json")
    told: dict[str, Any] = json.loads(out)
    assert status == 1
    assert told["summary"] == {"changed": 1, "sites": 2, "left": 1, "failed": 0}
    [file] = told["files"]
    assert file["left"] == [
        {
            "location": {"row": 5, "column": 12},
            "end_location": {"row": 5, "column": 22},
            "source": "x.sum(dim)",
            "reason": "it is reached with several layouts: N C; C N",
        }
    ]


def test_over_files(program: Path, run: Run) -> None:
    """A function is called from another file, and a file uses names that another file sets."""
    program.write_text("def total(x):\n    return x.sum('C')\n")
    other = program.with_name("other.py")
    other.write_text(
        "import torch\nfrom program import total\n\n"
        "x = torch.ones(2, 3).refine_names('N', 'C')\nprint(total(x), x.mean('N'))\n"
    )
    status, out, _ = run(".", "--to", "torch")
    assert (status, out) == (0, "Rewrote 3 places in 2 files.\n")
    assert program.read_text() == "def total(x):\n    return x.sum(1)\n"
    assert "print(total(x), x.mean(0))" in other.read_text()


def test_what_only_tests_call(program: Path, run: Run) -> None:
    """The other file is seen in its migrated form: its ``sum`` needs no names."""
    program.write_text("def total(x, y):\n    return (x * y.align_as(x)).sum('C')\n")
    tests = program.with_name("test_program.py")
    tests.write_text(
        "import torch\nfrom program import total\n\n\ndef test_total():\n"
        "    x = torch.ones(6).view(2, 3).refine_names('N', 'C')\n"
        "    y = total(x, torch.ones(3, names=('C',)))\n"
        "    assert y.names == ('N',)\n    assert y.sum('N').item() == 6\n"
    )
    assert run(".", "--to", "torch")[0] == 0
    assert program.read_text() == "def total(x, y):\n    return (x * y.unsqueeze(0)).sum(1)\n"
    assert "assert y.sum(0).item() == 6\n" in tests.read_text()


def test_tests_install_where_no_conftest_does(program: Path, run: Run) -> None:
    program.write_text("def total(x):\n    return x.refine_names('N', 'C').sum('C')\n")
    tests = program.with_name("test_program.py")
    tests.write_text(
        "import torch\n\nfrom program import total\n\n\ndef test_total():\n"
        "    assert total(torch.ones(2, 3)).tolist() == [3, 3]\n"
    )
    assert run(".", "--check") == (1, "Would rewrite 1 place in 1 file.\n", "")
    conftest = program.with_name("conftest.py")
    conftest.write_text("import namecheck\n\nnamecheck.install()\n")
    assert run(".") == (0, "Nothing to migrate.\n", "")
    conftest.unlink()
    assert run(".")[0] == 0
    install = "import namecheck\n\nif not namecheck.installed():\n    namecheck.install()\n"
    assert install in tests.read_text()
    assert run(".") == (0, "Nothing to migrate.\n", "")


def test_a_library_alone(program: Path, run: Run) -> None:
    program.write_text("def total(x):\n    return x.refine_names('N', 'C').sum('C')\n")
    status, out, _ = run(".")
    assert status == 0
    assert out.startswith("Nothing to migrate: names are used, but no program or test starts")


def test_installs_before_what_needs_it(program: Path, run: Run) -> None:
    program.with_name("other.py").write_text(
        '"""A program."""\n\nfrom __future__ import annotations\n\n'
        "from program import x\n\nprint(x.names)\n"
    )
    assert run(".")[0] == 0
    assert program.with_name("other.py").read_text() == (
        '"""A program."""\n\nfrom __future__ import annotations\n\n'
        "import namecheck\n\nnamecheck.install()\n\nfrom program import x\n\nprint(x.names)\n"
    )


@pytest.mark.parametrize(
    "head",
    [
        "import namecheck as nc\n\nnc.install()\n",
        "import namecheck.runtime as r\n\nr.install()\n",
        "import namecheck\n\nsetup = namecheck.install\nsetup()\n",
    ],
)
def test_a_file_that_installs_stays(program: Path, head: str, run: Run) -> None:
    program.write_text(head + PROGRAM)
    assert run("program.py") == (0, "Nothing to migrate.\n", "")


def test_words_in_a_comment_install_nothing(program: Path, run: Run) -> None:
    program.write_text(f"# namecheck.install() is for programs\n{PROGRAM}")
    assert run("program.py") == (0, "Rewrote 1 place in 1 file.\n", "")


@pytest.mark.parametrize("road", ["torch", "namecheck"])
def test_files_that_cannot_be_read(program: Path, road: str, run: Run) -> None:
    broken = PROGRAM + "x = = 1\n"
    program.with_name("broken.py").write_text(broken)
    program.with_name("bytes.py").write_bytes(PROGRAM.encode() + b"y = '\xff'\n")
    status, out, err = run(".", "gone.py", "--to", road)
    assert status == 2
    assert "there is no gone.py" in err
    assert "broken.py: not migrated: Invalid syntax (NC001, line 5)" in out
    assert "bytes.py: not migrated: The file cannot be decoded" in out
    assert program.with_name("broken.py").read_text() == broken
    assert program.read_text() != PROGRAM  # the other files are migrated nevertheless


def test_a_file_that_cannot_be_written(
    program: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anything
    status, out, _ = run("program.py", "--to", "torch")
    assert status == 2
    assert "program.py: not migrated: it is read-only" in out
    assert program.read_text() == PROGRAM
    [file] = json.loads(run("program.py", "--format", "json")[1])["files"]
    assert (file["changed"], file["sites"]) == (False, 0)


def test_only_what_is_missing(run: Run) -> None:
    assert run("gone.py") == (2, "", "namecheck: there is no gone.py\n")
    status, out, _ = run("gone.py", "--format", "json")
    assert (status, json.loads(out)["files"]) == (2, [])


def test_standard_input_is_refused(run: Run) -> None:
    status, _, err = run("-")
    assert status == 2
    assert "does not take standard input" in err


def test_mode_and_line_ends_stay(program: Path, run: Run) -> None:
    program.write_bytes(b"\xef\xbb\xbf" + PROGRAM.replace("\n", "\r\n").encode())
    program.chmod(0o755)
    assert run("program.py", "--to", "torch")[0] == 0
    data = program.read_bytes()
    assert data.startswith(b"\xef\xbb\xbffrom typing import Annotated\r\n\r\nimport torch\r\n\r\n")
    assert data.count(b"\r\n") == data.count(b"\n") == 6
    assert program.stat().st_mode & 0o777 == 0o755


def test_over_packages(program: Path, run: Run) -> None:
    """A package in `src`, and a program beside it that uses the package."""
    folder = program.parent / "src" / "package"
    folder.mkdir(parents=True)
    (program.parent / "pyproject.toml").write_text("[project]\nname = 'p'\n")
    (folder / "__init__.py").write_text("from .parts import total\n")
    (folder / "parts.py").write_text("def total(x, dim='C'):\n    return x.sum(dim)\n")
    program.write_text(
        "import torch\nfrom package import total\n\n"
        "print(total(torch.ones(2, 3).refine_names('N', 'C')))\n"
    )
    status, out, _ = run(".", "--to", "torch")
    assert (status, out) == (0, "Rewrote 2 places in 2 files.\n")
    assert (folder / "parts.py").read_text() == "def total(x, dim='C'):\n    return x.sum(1)\n"


def test_constants_that_nothing_uses_any_more(program: Path, run: Run) -> None:
    head = 'import torch\n\nC = "C"\n_UNUSED = "U"\n_SHOWN = ("N", C)\n'
    told = '\nx: Annotated[torch.Tensor, "N C"] = torch.ones(2, 3)\n'
    tail = f"{told}print(x.sum((0,)), x.sum(1), _SHOWN)\n"
    program.write_text(
        f'{head}_N = "N"  # the batch\n_DIMS = [_N]\n'
        "\nx = torch.ones(2, 3, names=_SHOWN)\nprint(x.sum(_DIMS), x.sum(C), _SHOWN)\n"
    )
    assert run("program.py", "--to", "torch")[0] == 0
    becomes = f'from typing import Annotated\n\n{head}_N = "N"  # the batch\n{tail}'
    assert program.read_text() == becomes


def test_texts_and_values_that_are_no_names(program: Path, run: Run) -> None:
    """A pattern of einops, and unknown dims of a value that may be no tensor."""
    program.write_text(
        f"{PROGRAM}\n"
        "from einops.layers.torch import Rearrange\n"
        'net = torch.nn.Sequential(Rearrange("n (h c) -> n h c", h=1), torch.nn.ReLU())\n'
        "net(x.rename(None))\n\n\n"
        "def merged(values, dim):\n"
        "    return torch.cat(values, dim=dim(values))\n"
    )
    assert run("program.py", "--to", "torch")[:2] == (0, "Rewrote 3 places in 1 file.\n")
