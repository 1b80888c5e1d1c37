"""A verb and an output format are one file each: no list has to be edited."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from namecheck.cli import verbs
from namecheck.cli.main import main
from namecheck.report import formats
from tests.docs_pages import DOCS

VERB = """\
from namecheck.cli.verbs import Verb

def add_arguments(parser):
    parser.add_argument("word")

def run(arguments):
    print(arguments.word.upper())
    return 7

VERB = Verb("shout a word", add_arguments, run)
"""
FORMAT = """\
from namecheck.report.formats import Format

FORMAT = Format(lambda listing: iter([f"{len(listing.findings)} in all"]))
"""
BAD = 'import torch\n\ntorch.zeros(2, names=("N",)).sum("C")\n'

Add = Callable[[ModuleType, str, str], None]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Adds a module to a package during a test."""
    added: list[str] = []

    def module(package: ModuleType, name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        added.append(f"{package.__name__}.{name}")
        monkeypatch.setattr(package, "__file__", str(tmp_path / "__init__.py"))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])

    yield module
    for name in added:
        sys.modules.pop(name, None)


def test_a_file_is_a_verb(add: Add, capsys: pytest.CaptureFixture[str]) -> None:
    add(verbs, "shout", VERB)
    assert main(["shout", "here"]) == 7
    assert main([]) == 2
    out = capsys.readouterr().out
    assert out.startswith("HERE\n")
    assert re.search(r"^ +shout +shout a word$", out, re.MULTILINE)


def test_a_file_is_an_output_format(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(formats, "total", FORMAT)
    path = tmp_path / "checked" / "bad.py"
    path.parent.mkdir()
    path.write_text(BAD)
    assert main(["check", "--no-cache", str(path), "--output-format", "total"]) == 1
    assert capsys.readouterr().out == "1 in all\n"
    (path.parent / "pyproject.toml").write_text('[tool.namecheck]\noutput-format = "totals"\n')
    assert main(["check", "--no-cache", str(path)]) == 2
    assert "one of total is wanted, not 'totals'" in capsys.readouterr().err


@pytest.mark.parametrize("name", verbs.names())
def test_a_verb_has_a_row_and_a_section_in_the_documentation(name: str) -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    assert f"| [`{name}`](#{name}) | " in page
    assert f"\n### {name}\n" in page
    assert f"\n<!-- help: {name} -->\n" in page


@pytest.mark.parametrize("name", formats.names())
def test_an_output_format_is_documented(name: str) -> None:
    assert f"\n- `{name}`" in (DOCS / "cli.md").read_text("utf-8")
