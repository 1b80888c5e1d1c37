"""docs/migration.md, followed from top to bottom: its files, its commands, their output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests import warm

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "migration.md").read_text("utf-8")
POOL, TOTAL = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FAILS, CHECKED, KEPT, PLAIN, LEFT = re.findall(
    r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)
RESULT: Final = KEPT.splitlines()[-1] + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pool.py").write_text(POOL)
    (tmp_path / "total.py").write_text(TOTAL)
    return tmp_path


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command of the page."""
    first, *words = command.split()
    environment = {"PYTHONPATH": ":".join([str(ROOT), *filter(None, sys.path)]), "PATH": ""}
    if first == "python":
        return warm.run(*words, cwd=folder, env=environment)
    words[:0] = [sys.executable, "-m", first]
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def shown(block: str, command: str) -> str:
    """The output that a block shows after a command."""
    _, _, rest = block.partition(f"$ {command}\n")
    return rest.partition("\n$ ")[0].removesuffix("\n") + "\n"


def test_it_fails_on_this_torch(folder: Path) -> None:
    command = FAILS.splitlines()[0].removeprefix("$ ")
    failed = run(folder, command)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == FAILS.splitlines()[1]


def test_it_begins_with_a_look(folder: Path) -> None:
    _, _, after = PAGE.partition("namecheck migrate")
    assert after.startswith(" --check ")
    command = "namecheck migrate --check pool.py --to torch"
    assert run(folder, command).stdout == shown(CHECKED, command)
    assert (folder / "pool.py").read_text() == POOL


def test_the_names_are_kept(folder: Path) -> None:
    diff = shown(KEPT, "git diff")
    assert run(folder, "namecheck migrate pool.py --diff").stdout == diff
    command = "namecheck migrate pool.py"
    assert run(folder, command).stdout == shown(KEPT, command)
    assert run(folder, "python pool.py").stdout == RESULT


def test_the_names_are_compiled_away(folder: Path) -> None:
    command = "namecheck migrate pool.py --to torch --diff"
    assert run(folder, command).stdout == shown(PLAIN, command)
    assert run(folder, "namecheck migrate pool.py --to torch").returncode == 0
    assert run(folder, "python pool.py").stdout == RESULT
    assert run(folder, "namecheck check pool.py --no-cache").returncode == 0


def test_what_is_left_is_listed(folder: Path) -> None:
    command = "namecheck migrate total.py --to torch"
    left = run(folder, command)
    assert (left.returncode, left.stdout) == (1, shown(LEFT, command))
