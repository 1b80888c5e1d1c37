"""docs/python.md: its program runs, and its tables have what the API has."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import namecheck
from tests.docs_pages import DOCS

PAGE: Final = (DOCS / "python.md").read_text("utf-8")
# What the page leaves out: these may change.
UNSTABLE: Final = {"assured", "by_axes", "facts", "plain"}


def section(title: str) -> str:
    """The text under a heading."""
    return PAGE.partition(f"\n## {title}")[2].partition("\n## ")[0]


def first_cells(text: str) -> set[str]:
    """The words in quotes of the first column of a table."""
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`(\w+)[^`]*`", row)}


def test_the_program_runs(tmp_path: Path) -> None:
    [program] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text(
        'import torch\n\ntorch.zeros(2, names=("N",)).sum("K")\n'
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    line, last = ran.stdout.splitlines()
    assert line == "src/one.py:3: NC103 Name 'K' not found in Tensor['N']."
    assert last == "1 errors in 1 files"


def test_every_argument_has_a_row() -> None:
    parameters = set(inspect.signature(namecheck.check).parameters) - {"paths"}
    assert first_cells(section("`check(")) == parameters


@pytest.mark.parametrize(
    ("title", "described"), [("`Report`", namecheck.Report), ("`Finding`", namecheck.Finding)]
)
def test_every_attribute_has_a_row(title: str, described: Any) -> None:
    properties = {name for name, member in vars(described).items() if isinstance(member, property)}
    fields = {field.name for field in dataclasses.fields(described)}
    assert first_cells(section(title)) == (fields | properties) - UNSTABLE
