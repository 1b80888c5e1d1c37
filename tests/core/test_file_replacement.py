"""How files are written: as a whole, through named links alone, and without leaving strays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from namecheck.cli import main
from namecheck.core import file_replacement
from namecheck.core.file_replacement import CannotWrite, change, save

ROOT: Final = Path(__file__).parents[2]
BAD: Final = 'import torch\n\nx = torch.ones(2, 3, names=("N", "C"))\nx + x.sum("C")\n'
MENDED: Final = BAD.replace('x.sum("C")', 'x.sum("C", keepdim=True)')
OLD: Final = 'import torch\n\nx = torch.ones(2, names=("N",))\nprint(x.sum("N"))\n'

KILLED: Final = """
import os, signal, sys
from namecheck.core import file_replacement
def killed(source, target):
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = killed
file_replacement.change(sys.argv[1], b"x = 1\\n", b"x = 2\\n")
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a folder of its own."""
    (tmp_path / "project").mkdir()
    (tmp_path / "outside").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    Path("pyproject.toml").write_text("")
    return tmp_path / "project"


def test_a_killed_run_leaves_nothing_after_the_next(root: Path) -> None:
    file = root / "m.py"
    file.write_bytes(b"x = 1\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", KILLED, str(file)]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    [stray] = [path for path in root.iterdir() if path.suffix == ".tmp"]
    assert (file.read_bytes(), stray.read_bytes()) == (b"x = 1\n", b"x = 2\n")
    (root / ".m.py.mine.tmp").touch()
    assert change(str(file), b"x = 1\n", b"x = 3\n") == str(file)
    assert sorted(os.listdir(root)) == [".m.py.mine.tmp", "m.py", "pyproject.toml"]


def test_what_another_run_is_writing_stays(root: Path) -> None:
    handle, path = file_replacement._temporary(str(root), ".m.py.namecheck-")
    (root / "m.py").write_bytes(b"x = 1\n")
    change(str(root / "m.py"), b"x = 1\n", b"x = 2\n")
    assert os.path.exists(path)
    os.close(handle)
    change(str(root / "m.py"), b"x = 2\n", b"x = 3\n")
    assert not os.path.exists(path)


def test_a_stray_that_is_a_link_or_a_pipe_harms_nothing(root: Path) -> None:
    (root / "m.py").write_bytes(b"x = 1\n")
    (root / "victim").touch()
    (root / ".m.py.namecheck-1.tmp").symlink_to("victim")
    os.mkfifo(root / ".m.py.namecheck-2.tmp")
    change(str(root / "m.py"), b"x = 1\n", b"x = 2\n")
    assert (root / "victim").exists()
    assert (root / "m.py").read_bytes() == b"x = 2\n"


def test_a_long_name_can_be_written(root: Path) -> None:
    path = root / f"{'m' * 250}.py"
    save(str(path), b"x = 1\n")
    assert change(str(path), b"x = 1\n", b"x = 2\n") == str(path)


def test_a_file_behind_a_link_is_changed_if_the_link_was_named(root: Path) -> None:
    (root / "m.py").write_bytes(b"x = 1\n")
    (root / "link.py").symlink_to("m.py")
    link, target = str(root / "link.py"), str(root / "m.py")
    with pytest.raises(CannotWrite, match=f"link.py: a link leads to it; name {target} to have"):
        change(link, b"x = 1\n", b"x = 2\n", linked=True)
    assert change(link, b"x = 1\n", b"x = 2\n") == target
    assert change(link, b"x = 1\n", b"x = 2\n", linked=True) == ""


@pytest.mark.parametrize("flag", ["--fix --unsafe-fixes", "--add-ignore"])
def test_a_check_writes_through_no_link_on_a_walk(
    root: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    for path in ("hidden/.m.py", "twice.py", "../outside/m.py"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(BAD)
    (root / "a.py").symlink_to("hidden/.m.py")
    (root / "b.py").symlink_to("twice.py")
    (root / "out.py").symlink_to("../outside/m.py")
    assert main.main(["check", "--no-cache", *flag.split(), "."]) == 2
    [outward, refused, *_] = capsys.readouterr().err.splitlines()
    assert outward.endswith("unless they are named: out.py")
    assert refused.startswith(f"namecheck: not fixed: {root}/a.py: a link leads to it; name {root}")
    assert (root / "hidden/.m.py").read_text() == (root / "../outside/m.py").read_text() == BAD
    assert (root / "twice.py").read_text() != BAD, "it has its own name too"

    assert main.main(["check", "--no-cache", *flag.split(), "out.py"]) == 0
    real = root.parent / "outside" / "m.py"
    wrote = f"namecheck: wrote {real} through the link out.py\n"
    assert wrote in capsys.readouterr().err
    assert (root / "out.py").is_symlink()
    assert real.read_text() != BAD


def test_a_migration_writes_through_no_link_on_a_walk(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "hidden").mkdir()
    (root / "hidden/.m.py").write_text(OLD)
    (root.parent / "outside/m.py").write_text(OLD)
    (root / "a.py").symlink_to("hidden/.m.py")
    (root / "out.py").symlink_to("../outside/m.py")
    assert main.main(["migrate", "--to", "torch", "."]) == 2
    assert "a.py: not migrated: a link leads to it; name " in capsys.readouterr().out
    assert (root / "hidden/.m.py").read_text() == (root / "out.py").read_text() == OLD
    assert main.main(["migrate", "--to", "torch", "out.py"]) == 0
    assert f"out.py: wrote {root.parent}/outside/m.py through this link" in capsys.readouterr().out
    assert (root / "out.py").read_text() != OLD
