"""The output in docs/cli.md and docs/compare.md equals that of the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from namecheck.cli import main
from namecheck.project.settings import read
from tests.docs_pages import DOCS

ROOT: Final = DOCS.parent
CLI: Final = (DOCS / "cli.md").read_text("utf-8")
COMPARE: Final = (DOCS / "compare.md").read_text("utf-8")

_EXPLAINED: Final = re.compile(
    r"```python\n(?P<program>[^`]*)```\n\n```text explain\n(?P<output>.*?)```\n", re.DOTALL
)
_COMMAND: Final = re.compile(
    r"```text (?P<command>(?:check|compare) [^\n]*)\n(?P<output>.*?)```\n", re.DOTALL
)
EXPLAINED: Final = list(_EXPLAINED.finditer(CLI))
COMMANDS: Final = [*_COMMAND.finditer(CLI), *_COMMAND.finditer(COMPARE)]


def test_the_pages_have_examples() -> None:
    assert EXPLAINED
    assert {block["command"].split()[0] for block in COMMANDS} == {"check", "compare"}


@pytest.mark.parametrize("block", EXPLAINED)
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


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: block["command"])
def test_a_command_prints_what_the_page_shows(
    block: re.Match[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    main.main(block["command"].split())
    assert block["output"] in capfd.readouterr().out


def test_compare_prints_json_with_the_keys_that_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    [shown] = re.findall(r"```json\n(.*?)```", COMPARE, re.DOTALL)
    monkeypatch.chdir(ROOT)
    assert main.main(["compare", "--output-format", "json", "fixtures/compare/training.py"]) == 0
    expected, printed = json.loads(shown), json.loads(capfd.readouterr().out)
    assert list(expected) == list(printed)
    assert list(expected["attributes"]) == list(printed["attributes"])


def test_the_settings_that_the_page_shows_can_be_used() -> None:
    page = (DOCS / "settings.md").read_text("utf-8")
    shown = re.findall(r"```toml\n(\[tool.namecheck\]\n.*?)```", page, re.DOTALL)
    assert [read(text.encode(), "pyproject.toml") is not None for text in shown] == [True]
