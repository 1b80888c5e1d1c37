"""What docs/security.md says is what the code has, and no page shows an unsafe command."""

from __future__ import annotations

import re
from typing import Final

from namecheck.cli import verbs
from namecheck.core import regular_files
from namecheck.project import cache_folder
from namecheck.project.cache import FOLDER
from tests.docs_pages import DOCS

ROOT: Final = DOCS.parent
PAGE: Final = (DOCS / "security.md").read_text("utf-8")


def test_every_verb_has_a_row() -> None:
    table = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(table))) == sorted(verbs.names())


def test_what_it_names_exists() -> None:
    tests = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)
    assert tests
    assert [name for name in tests if not (ROOT / name).is_file()] == []
    assert {regular_files.VARIABLE, cache_folder.VARIABLE} <= {*re.findall(r"`(\w+)`", PAGE)}
    assert f"`{FOLDER}`" in PAGE
    assert f"{regular_files.largest() // 10**6} MB" in PAGE


def test_the_action_and_the_hooks_run_no_module_of_the_checkout() -> None:
    """They run in the folder of a stranger's repository, where -m looks for modules first."""
    files = (".github/actions/namecheck/action.yml", ".pre-commit-hooks.yaml")
    lines = [line for file in files for line in (ROOT / file).read_text("utf-8").splitlines()]
    assert any(" -I -m " in line for line in lines)
    assert [line for line in lines if " -m " in line and " -I -m " not in line] == []


def test_no_page_runs_the_module_of_the_working_folder() -> None:
    for page in (*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        if page.name != "security.md":
            assert "python -m namecheck" not in page.read_text("utf-8"), page
