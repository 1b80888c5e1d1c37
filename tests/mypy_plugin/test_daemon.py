"""The daemon of mypy: findings follow edits in both directions, in all affected files."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.mypy_plugin.projects import CODES, Project, Run, Told
from tests.mypy_plugin.test_findings import CHAIN, SHOWN, TOP

ALONE: Final = "import torch\n\ntorch.zeros(2, names=('N',)).sum('K')\n"
_LINE: Final = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)  \[(?P<code>.+)\]")


@pytest.fixture
def project(small_project: Project) -> Project:
    """A project with a torch of a few lines: what is tested here does not depend on the stubs."""
    return small_project


def told(run: Run) -> Told:
    """The findings in the output of the daemon."""
    lines = map(_LINE.fullmatch, run.out.splitlines())
    return {(m["file"], int(m["line"]), m["text"]) for m in lines if m and m["code"] in CODES}


def test_edits_and_back(project: Project) -> None:
    project.write(CHAIN)
    project.write({"alone.py": ALONE})
    first = told(project.daemon("run", "--", "."))
    assert first == project.namecheck(".")
    assert len(first) == 2

    def agree(*words: str) -> Told:
        found = told(project.daemon(*words))
        assert found == project.namecheck(".")
        return found

    project.replace("lib.py", '"N", "C"', '"N", "K"')
    assert agree("run", "--", ".") != first
    project.replace("lib.py", '"N", "K"', '"N", "C"')
    assert agree("recheck") == first
    project.replace("top.py", '.sum("C")\n', '.sum("N")\n')
    assert len(agree("check", ".")) == 1
    project.write({"top.py": TOP, "middle.py": "x = 1\n" + CHAIN["middle.py"]})
    assert agree("recheck") == first
    (project.root / "alone.py").unlink()
    assert len(agree("recheck")) == 1
    project.write({"alone.py": ALONE})
    assert agree("check", ".") == first
    project.write({"new.py": ALONE})
    assert len(agree("check", ".")) == 3
    (project.root / "new.py").unlink()
    project.replace("top.py", '.sum("C")\n', '.sum("C")  # type: ignore[named-dim]\n')
    run = project.daemon("check", ".")
    assert told(run) == first - project.namecheck("top.py")
    assert "unused" not in run.out
    project.replace("top.py", "type: ignore[named-dim]", "namecheck: ignore[NC103]")
    assert len(agree("recheck")) == 1


def test_a_fine_grained_cache_and_settings(small_project: Project) -> None:
    small_project.write(CHAIN)
    first = small_project.mypy("--cache-fine-grained", ".").told
    assert len(first) == 1
    flags = ("run", "--", "--use-fine-grained-cache", ".")
    assert told(small_project.daemon(*flags)) == first
    small_project.replace("lib.py", '"N", "C"', '"N", "K"')
    assert told(small_project.daemon(*flags)) == small_project.namecheck(".") != first
    small_project.replace("lib.py", '"N", "K"', '"N", "C"')
    assert told(small_project.daemon(*flags)) == first
    small_project.settings('[tool.namecheck]\nignore = ["NC103"]\n')
    assert told(small_project.daemon(*flags)) == set()
    small_project.settings("")
    assert told(small_project.daemon(*flags)) == first


def test_revealed_names(project: Project) -> None:
    project.write({**CHAIN, "shown.py": SHOWN})
    assert "tuple[Literal['N'], Literal['C']]" in project.daemon("run", "--", ".").out
    project.replace("lib.py", '"N", "C"', '"N", "K"')
    assert "tuple[Literal['N'], Literal['K']]" in project.daemon("recheck").out
    project.replace("shown.py", "twice()", "twice().sum(0)")
    assert "tuple[Literal['K']]" in project.daemon("recheck").out


def test_a_wrong_setting_is_told_once_in_each_run(small_project: Project) -> None:
    small_project.write(CHAIN)
    small_project.settings("[tool.namecheck]\nignore = 3\n")
    for words in (("run", "--", "."), ("recheck",), ("check", ".")):
        run = small_project.daemon(*words)
        assert (run.out + run.err).count("[tool.namecheck] ignore: ") == 1, words
        small_project.replace("lib.py", '"N", "C"', '"N", "K"')
        small_project.replace("lib.py", '"N", "K"', '"N", "C"')
        small_project.replace("top.py", "\n", "\n\n")
    small_project.settings("")
    assert told(small_project.daemon("run", "--", ".")) == small_project.namecheck(".") != set()
