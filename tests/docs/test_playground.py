"""The Python of the playground answers as the command does, in offsets of JavaScript.

The page itself is tested in a browser: docs/contributing/site.md has the commands.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from namecheck.core.semantics import Semantics
from namecheck.project.settings import EVIDENCE
from tests.docs_pages import DOCS

FOLDER: Final = DOCS / "playground"
EXAMPLES: Final = json.loads((FOLDER / "examples.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def bridge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bridge", FOLDER / "bridge.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(bridge: ModuleType, question: str, program: str, evidence: str = "declared") -> Any:
    return json.loads(getattr(bridge, question)(program, evidence, Semantics.NAMECHECK.value))


def units(program: str, place: dict[str, Any]) -> str:
    """The text of a place: JavaScript counts the units of UTF-16."""
    data = program.encode("utf-16-le")
    return data[2 * place["from"] : 2 * place["to"]].decode("utf-16-le")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_an_example_has_the_findings_that_it_marks(
    bridge: ModuleType, example: dict[str, str]
) -> None:
    program = Path(DOCS.parent, example["file"]).read_text("utf-8")
    findings = ask(bridge, "findings", program, example.get("evidence", "declared"))
    marks = ("# error: [", "# BUG")
    marked = [
        number
        for number, line in enumerate(program.split("\n"), 1)
        if any(mark in line for mark in marks)
    ]
    assert [finding["line"] for finding in findings] == marked


def test_offsets_are_those_of_utf_16(bridge: ModuleType) -> None:
    program = (
        'import torch\n\nx = torch.ones(2, names=("N",))\nprint("🔥 寸", x.sum("M"), x.sum("N"))\n'
    )
    [finding] = ask(bridge, "findings", program)
    assert units(program, finding) == 'x.sum("M")'
    assert [units(program, mark) for mark in finding["related"]] == ['"N"']
    assert finding["message"] == "Name 'M' not found in Tensor['N']."
    dims = ask(bridge, "dims", program)
    assert {units(program, each): each["dims"] for each in dims["expressions"]} == {
        'torch.ones(2, names=("N",))': "N=2",
        "x": "N=2",
        'x.sum("N")': "",
    }
    assert dims["lines"] == [{"line": 3, "dims": "N=2"}]


def test_a_program_without_names_is_checked_for_dtypes(bridge: ModuleType) -> None:
    [finding] = ask(
        bridge, "findings", "import torch\n\nx = torch.ones(2).long() @ torch.ones(2)\n"
    )
    assert finding["code"] == "NC305"


def test_a_syntax_error_is_a_finding_without_dims(bridge: ModuleType) -> None:
    [finding] = ask(bridge, "findings", "def f(:\n    pass")
    assert finding["code"] == "NC001"
    assert ask(bridge, "dims", "def f(:\n    pass") == {"expressions": [], "lines": []}


def test_the_page_has_the_switches_of_the_command() -> None:
    page = (FOLDER / "index.html").read_text("utf-8")
    for name, values in (
        ("evidence", EVIDENCE),
        ("semantics", [semantics.value for semantics in Semantics]),
    ):
        for value in values:
            assert f'name="{name}" value="{value}"' in page
