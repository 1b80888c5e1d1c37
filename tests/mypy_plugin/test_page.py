"""docs/mypy.md, followed from top to bottom: its files, its commands, their output."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from tests.mypy_plugin.projects import ROOT, SETTINGS, Project

PAGE: Final = (ROOT / "docs" / "mypy.md").read_text("utf-8")


def block(language: str, number: int = 0) -> str:
    """A fenced block of the page."""
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found[number]


def test_a_reader_sees_what_the_page_shows(project: Project) -> None:
    project.write({"model.py": block("python"), "pyproject.toml": block("toml")})
    run = project.run("mypy", ".")
    assert run.code == 1
    assert run.out == block("text")


def test_the_settings_are_those_of_the_tests() -> None:
    assert tomllib.loads(block("toml"))["tool"]["mypy"].items() <= (
        tomllib.loads(SETTINGS)["tool"]["mypy"].items()
    )


def test_the_other_tools_run_the_same_command() -> None:
    *_, command = block("sh").splitlines()
    assert command == ".venv/bin/mypy ."
    install = 'pip install "torch-namecheck[mypy,torch]"'
    assert block("yaml").count(f"- run: {install}") == 1
    assert block("sh").count(install) == 1
    assert "- run: mypy ." in block("yaml")
    assert "entry: mypy\n        args: [.]" in block("yaml", 1)


def test_the_codes_are_told() -> None:
    from namecheck_mypy.families import FAMILIES

    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (NC\d)\.\. \|", PAGE, re.MULTILINE))
    assert rows == {code.code: prefix for prefix, code in FAMILIES.items()}
