"""The program of docs/tutorial.md runs before the first step and after the last one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import warm
from tests.docs_pages import DOCS
from tests.docs_tutorial import changed, followed

PAGE = (DOCS / "tutorial.md").read_text("utf-8")


@pytest.mark.parametrize("end", ["## Install", "## Read on"])
def test_the_program_runs(tmp_path: Path, end: str) -> None:
    folder = tmp_path / "regression"
    folder.mkdir()
    followed(PAGE.partition(end)[0], folder)
    program = folder / "train.py"
    program.write_text(program.read_text().replace("range(200)", "range(2)"))
    ran = warm.run("-W", "ignore", "train.py", cwd=folder)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_each_mistake_is_found_alone() -> None:
    """Each step has one finding, and each of them is gone in the next step."""
    found = re.findall(r"^(NC\d+) [\w-]+: |^(All checks passed\.|\d+ fixed, 0 left\.)$", PAGE, re.M)
    assert [code or outcome for code, outcome in found[:6]] == [
        "NC101",
        "1 fixed, 0 left.",
        "NC601",
        "1 fixed, 0 left.",
        "NC211",
        "All checks passed.",
    ]


def test_a_change_must_fit() -> None:
    assert changed("a\n\nb\n", " a\n\n-b\n+c\n+d\n") == "a\n\nc\nd\n"
    with pytest.raises(AssertionError, match="0 times"):
        changed("a\nb\n", "-c\n+d\n")
    with pytest.raises(AssertionError, match="2 times"):
        changed("a\na\n", "-a\n+d\n")
