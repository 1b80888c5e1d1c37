"""``namecheck init``: what it sees of a project, the settings that it writes, the next commands."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests.running import Run, runner

NATIVE: Final = """\
import torch

x = torch.zeros(2, 3, names=("N", "C"))
y = torch.zeros(2, 3, names=("N", "H"))
z = x + y
"""
ANNOTATED: Final = """\
from typing import Annotated

from jaxtyping import Float
from torch import Tensor


def f(x: Annotated[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    return x
"""
PLAIN: Final = "import torch\n\n\ndef f(x):\n    return x + torch.zeros(2)\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def written() -> object:
    return tomllib.loads(Path("pyproject.toml").read_text())["tool"]["namecheck"]


def test_a_project_with_findings(run: Run) -> None:
    Path("native.py").write_text(NATIVE)
    Path("annotated.py").write_text(ANNOTATED)
    Path("requirements-dev.txt").write_text("numpy\ntorch>=2.13,<3  # newest\n")
    Path(".pre-commit-config.yaml").touch()
    status, out, err = run("init")
    assert (status, err) == (0, "")
    assert out == (
        "torch is imported by 2 files.\n"
        "  version     torch >=2.13,<3, from requirements-dev.txt (no named tensors of its own)\n"
        "  dimensions  1 file by jaxtyping, 1 file by Annotated, 1 file by named tensors\n"
        "  checks      .pre-commit-config.yaml\n"
        "\n"
        "pyproject.toml has these settings now:\n"
        "\n"
        "[tool.namecheck]\n"
        'select = ["ALL"]\n'
        'torch = ">=2.13,<3"\n'
        "\n"
        "`namecheck check` reports 2 findings in 1 file: "
        "1 NC701 removed-api, 1 NC101 name-mismatch.\n"
        "Next:\n"
        "  namecheck check         # see the findings, each with its origin\n"
        "  namecheck check --diff  # see what fixes would change\n"
        "  namecheck baseline      # accept them for now, and fail on new ones alone\n"
    )
    assert written() == {"select": ["ALL"], "torch": ">=2.13,<3"}
    assert "Found 2 errors in 1 file." in run("check")[1]


def test_a_section_is_added_at_the_end(run: Run) -> None:
    before = b'[project]\r\nname = "p"\r\ndependencies = ["torch>=2.4"]\r\n'
    Path("pyproject.toml").write_bytes(before)
    Path("annotated.py").write_text(ANNOTATED)
    status, out, _ = run("init")
    assert status == 0
    assert "  version     torch >=2.4, from pyproject.toml\n" in out
    added = b'\r\n[tool.namecheck]\r\nselect = ["ALL"]\r\n'
    assert Path("pyproject.toml").read_bytes() == before + added
    assert "`namecheck check` reports nothing now.\n" in out
    assert "  namecheck check --statistics   # count the known names" in out
    assert "  namecheck reveal annotated.py  # " in out


def test_a_project_that_names_nothing_is_checked_for_attributes(run: Run) -> None:
    Path("plain.py").write_text(PLAIN)
    _, out, _ = run("init")
    assert "  dimensions  named by no file\n" in out
    assert written() == {"select": ["ALL"], "attributes": "all"}
    assert out.endswith(
        "`namecheck check` reports nothing now.\n"
        "No dimension has a name yet: annotate a tensor, as in "
        '`x: Annotated[Tensor, "batch time"]`.\n'
        "Next:\n"
        "  namecheck check            # check what is annotated; "
        "unchanged files come from a cache\n"
        "  namecheck reveal plain.py  # see the dimensions of every tensor of a file\n"
        "  namecheck rule             # see what is checked\n"
    )


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("from torchtyping import TensorType\nx: TensorType['batch', 3]\n", "torchtyping"),
        ("import torch\nx = torch.zeros(2).rename('N')\n", "other means"),
    ],
)
def test_seldom_ways_to_name_dims_count(run: Run, text: str, way: str) -> None:
    Path("a.py").write_text(text)
    _, out, _ = run("init")
    assert f"  dimensions  1 file by {way}\n" in out
    assert "No dimension has a name yet" not in out


def test_the_names_that_plain_code_has_are_offered(run: Run) -> None:
    Path("a.py").write_text(PLAIN)
    Path("b.py").write_text(
        "import torch\n\n\ndef f(x):\n    B, T = x.shape\n    return x.sum(1)\n"
    )
    _, out, _ = run("init")
    [_, shown] = out.split("Next:\n")
    commands = [line.split("  # ")[0].strip() for line in shown.splitlines()]
    assert commands == [
        "namecheck check",
        "namecheck check --evidence observed",
        "namecheck reveal b.py --evidence observed",
    ]
    assert "x.sum(1)  B\n" in run(*commands[-1].split()[1:])[1]


def test_a_project_without_torch(run: Run) -> None:
    Path("plain.py").write_text("x = 1\n")
    status, out, _ = run("init")
    assert (status, written()) == (0, {"select": ["ALL"]})
    assert out.startswith("torch is imported by no file.\n")
    assert out.count("\n  namecheck ") == 3


def test_settings_that_are_there_are_kept(run: Run) -> None:
    Path("native.py").write_text(NATIVE)
    Path("pyproject.toml").write_text('[tool.namecheck]\nignore = ["NC1"]\n')
    status, out, _ = run("init")
    assert status == 0
    assert "pyproject.toml has [tool.namecheck] already: nothing is written.\n" in out
    assert "`namecheck check` reports nothing now.\n" in out
    assert Path("pyproject.toml").read_text() == '[tool.namecheck]\nignore = ["NC1"]\n'


def test_a_dry_run_writes_nothing(run: Run, tmp_path: Path) -> None:
    Path("native.py").write_text(NATIVE)
    _, out, _ = run("init", "--dry-run")
    assert "pyproject.toml would have:\n\n[tool.namecheck]\n" in out
    assert "reports 1 finding in 1 file" in out
    assert [path.name for path in tmp_path.iterdir()] == ["native.py"]


@pytest.mark.parametrize("text", ["[project\n", "tool = {}\n", "\udcff"])
def test_a_file_that_cannot_be_extended_is_kept(run: Run, text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    Path("pyproject.toml").write_bytes(data)
    status, _, err = run("init")
    assert status == 2
    assert err.startswith("namecheck: pyproject.toml")
    assert Path("pyproject.toml").read_bytes() == data


def test_strange_requirements_become_no_setting(run: Run) -> None:
    Path("native.py").write_text(NATIVE)
    lines = ['torch=="; import os', "torch @ https://example.org/torch.whl", "torchvision>=2.13"]
    for line in lines:
        Path("requirements.txt").write_text(f"{line}\n")
        Path("pyproject.toml").unlink(missing_ok=True)
        assert run("init")[0] == 0
        assert written() == {"select": ["ALL"]}


def test_it_is_run_from_below(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "p"\n')
    Path("native.py").write_text(NATIVE)
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    status, out, _ = run("init")
    assert status == 0
    assert f"{Path('../pyproject.toml')} has these settings now:" in out
    assert "reports 1 finding in 1 file: 1 NC101" in out


@pytest.mark.parametrize("exists", [False, True])
def test_a_link_out_of_the_project_is_not_written_through(
    run: Run, tmp_path: Path, exists: bool
) -> None:
    outside = tmp_path.parent / f"outside-{tmp_path.name}.toml"
    if exists:
        outside.write_text("[x]\n")
    Path("pyproject.toml").unlink(missing_ok=True)
    Path("pyproject.toml").symlink_to(outside)
    status, _, err = run("init")
    assert status == 2
    assert "leads out of the project" in err
    assert outside.exists() is exists
    assert not exists or outside.read_text() == "[x]\n"


@pytest.mark.parametrize("name", ["we ird'name.py", "$(echo x).py", "a;b.py", "größe.py"])
def test_a_shown_command_is_one_for_a_shell(run: Run, name: str) -> None:
    Path(name).write_text(PLAIN)
    _, out, _ = run("init")
    [line] = [line for line in out.splitlines() if "namecheck reveal" in line]
    assert shlex.split(line.partition("  # ")[0]) == ["namecheck", "reveal", name]
    assert name == "größe.py" or "'" in line


def test_control_characters_of_a_name_are_visible(run: Run) -> None:
    Path("a\x1b[31m.py").write_text(PLAIN)
    assert "\x1b" not in run("init")[1]
