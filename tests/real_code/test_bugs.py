"""The campaign over bugs of released packages, on a package that is made here."""

from __future__ import annotations

import ast
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.real_code import page
from tests.real_code.bugs.__main__ import Campaign, Trial, TrialError, table
from tests.real_code.bugs.records import Bug, stored
from tests.real_code.bugs.signatures import SignatureError, annotated
from tests.real_code.outcomes import Place
from tests.versions.environments import ROOT

BUG: Final = Bug(
    "made-up",
    "1.0",
    "1.1",
    "made_up/layers.py",
    6,
    "The wrong dim is averaged.",
    "changelog of 1.1",
    {"Pool.forward": {"x": "batch seq dim", "return": "batch dim"}},
)
LAYERS: Final = '''"""é: layers."""
from __future__ import annotations
from torch import nn
class Pool(nn.Module):
    def forward(self, x, scale: int | None = None):
        return x.mean({})
'''


def archive(folder: Path, version: str, dim: int) -> None:
    with zipfile.ZipFile(folder / f"made_up-{version}-py3-none-any.whl", "w") as packed:
        packed.writestr("made_up/__init__.py", "")
        packed.writestr("made_up/layers.py", LAYERS.format(dim))


def test_a_bug_is_found_before_and_not_after(tmp_path: Path) -> None:
    archive(tmp_path, "1.0", 2)
    archive(tmp_path, "1.1", 1)
    trial = Campaign(tmp_path, offline=True, checkout=ROOT).trial(BUG)
    assert [place.code for place in trial.before] == ["NC112"]
    assert (trial.elsewhere, trial.after) == ((), ())
    assert trial.is_as_recorded
    assert list(table([trial]))[-1] == "1 bugs, 1 reported before, 1 silent after"


def test_a_release_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrialError, match=r"made-up==1\.0 .* not in the folder"):
        Campaign(tmp_path, offline=True, checkout=ROOT).trial(BUG)


def test_a_record_of_a_miss_or_a_later_finding_is_compared() -> None:
    place = Place("made_up/layers.py", 6, 1, "NC112", "…")
    assert not Trial(BUG, (), (), ()).is_as_recorded
    assert not Trial(BUG, (place,), (), (place,)).is_as_recorded
    missed = Bug("p", "1", "2", "p.py", 1, "…", "…", {}, missed="no names")
    assert Trial(missed, (), (place,), ()).is_as_recorded


def test_annotations_leave_every_line_in_its_place() -> None:
    text = (
        '"""é"""\n'
        "import torch\n"
        "def f(é, x: Tensor = {1: 2}[1], *, n=3,\n"
        "      y: Optional[\n"
        "          Tensor] = None): return lambda: x\n"
        "class C:\n"
        "    async def g(self, x) -> Tensor: pass\n"
    )
    words = {"x": "é b", "y": "b 3?", "n": "int", "return": "b, c"}
    result = annotated(text, {"f": words, "C.g": {"return": ""}})
    assert result.lines == frozenset({3, 4, 5, 7})
    assert result.text == (
        '"""é"""\n'
        "from typing import Annotated; from torch import Tensor; import torch\n"
        'def f(é, x: Annotated[Tensor, "é b"] = {1: 2}[1], *, n: int=3,\n'
        '      y: Annotated[Tensor, "b 3"] | None\n'
        ' = None) -> tuple[Annotated[Tensor, "b"], Annotated[Tensor, "c"]]: return lambda: x\n'
        "class C:\n"
        '    async def g(self, x) -> Annotated[Tensor, ""]: pass\n'
    )
    ast.parse(result.text)


@pytest.mark.parametrize(
    ("signatures", "message"),
    [
        ({"g": {}}, "no function g"),
        ({"f": {"y": "b"}}, "no parameter y of f"),
    ],
)
def test_a_function_or_parameter_that_is_not_there_is_an_error(
    signatures: dict[str, dict[str, str]], message: str
) -> None:
    with pytest.raises(SignatureError, match=message):
        annotated("import torch\ndef f(x): pass\n", signatures)


def test_the_stored_bugs_are_complete() -> None:
    bugs = stored()
    assert len({(bug.package, bug.before, bug.file, bug.line) for bug in bugs}) == len(bugs)
    for bug in bugs:
        assert bug.before != bug.after
        assert bug.fact.endswith(".")
        assert bug.signatures


def test_the_page_has_a_row_for_each_bug() -> None:
    rows = list(page.bug_rows(stored()))
    assert sum(row.startswith("| ") for row in rows) == len(stored()) + 2
