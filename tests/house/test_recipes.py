"""The recipes of CONTRIBUTING.md, followed literally in a copy of the checkout.

A recipe writes files or appends to them, runs commands, and shows the output of the first one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
TEXT: Final = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES: Final = dict(
    re.findall(r"^## Recipe: (.*?)\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
)

# "Write `path`:" or "… append to `path`:", and the following block.
FILE: Final = re.compile(r"(Write|[Aa]ppend to) `([^`]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)
COMMANDS: Final = re.compile(r"```sh\n(.*?)```", re.DOTALL)
PRINTED: Final = re.compile(r"The first command prints[^\n]*:\n\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_recipe_does_what_it_says(recipe: str, tmp_path: Path) -> None:
    section = RECIPES[recipe]
    for folder in ("namecheck", "tests", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    os.symlink(ROOT / "fixtures", tmp_path / "fixtures")
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path)
    for verb, path, content in FILE.findall(section):
        mode = "w" if verb == "Write" else "a"
        with open(tmp_path / path, mode, encoding="utf-8") as file:
            file.write(content)
    commands = COMMANDS.findall(section)[0].splitlines()
    first, *_ = [run(command, tmp_path) for command in commands]
    for line in PRINTED.findall(section)[0].splitlines():
        assert line in first
    run(".venv/bin/python -m ruff format namecheck", tmp_path)
    run(".venv/bin/python -m ruff check namecheck", tmp_path)


def test_there_are_four_recipes() -> None:
    assert sorted(RECIPES) == ["add a fix", "add a lint", "add a rule", "add an operator"]


def run(command: str, folder: Path) -> str:
    """Run a command of a recipe as if the copy were installed; its output."""
    for program, module in ((".venv/bin/python", ""), (".venv/bin/namecheck", " -m namecheck")):
        command = command.replace(program, f"{sys.executable}{module}")
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'mypy_plugin'}"}
    environment.pop("PYTEST_ADDOPTS", None)
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout
