"""The programs of docs/cli.md: the command prints of each what stands below it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from namecheck.cli import main
from tests.docs_pages import DOCS

_SHOWN: Final = re.compile(
    r"```python\n(?P<program>[^`]*)```\n\n```text explain\n(?P<output>.*?)```\n", re.DOTALL
)
BLOCKS: Final = list(_SHOWN.finditer((DOCS / "cli.md").read_text("utf-8")))


def test_there_is_an_explained_program() -> None:
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_explain_prints_what_the_page_shows(
    block: re.Match[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("example.py").write_text(block["program"])
    main.main(["check", "--no-cache", "--explain", "example.py"])
    assert block["output"] in capsys.readouterr().out
