"""The programs of docs/fixes.md: fixes change each as the diff below it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from namecheck import project
from namecheck.core.semantics import Semantics
from namecheck.editing.differences import unified
from namecheck.fixing.rounds import Wishes, mend
from namecheck.project import Entry
from namecheck.project.settings import Settings
from tests.docs_pages import DOCS

_SHOWN: Final = re.compile(
    r"```python(?P<how>[^\n]*)\n(?P<program>.*?)```\n\n"
    r"```diff(?P<flags>[^\n]*)\n(?P<diff>.*?)```\n",
    re.DOTALL,
)
PAGE: Final = (DOCS / "fixes.md").read_text("utf-8")
BLOCKS: Final = list(_SHOWN.finditer(PAGE))


def test_every_program_has_its_diff() -> None:
    assert len(BLOCKS) == PAGE.count("```python") == PAGE.count("```diff")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block["diff"].split("\n")[0])
def test_what_the_page_shows_is_what_fixes_change(block: re.Match[str], tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(block["program"])
    words = block["how"].split()
    semantics = Semantics.NATIVE if "torch-2.12" in words else Semantics.NAMECHECK
    entry = Entry(str(path), str(path), Settings(str(tmp_path), semantics), 0, True)
    found = project.check([entry], jobs=1).findings
    mending = mend([entry], found, Wishes(unsafe="unsafe" in block["flags"]))
    assert not mending.left
    [change] = mending.changes
    found_lines = unified(change.before, change.after, "example.py", context_lines=0)
    lines = [line.decode() for line in found_lines][2:]
    assert [line for line in lines if not line.startswith("@@")] == block["diff"].splitlines()
