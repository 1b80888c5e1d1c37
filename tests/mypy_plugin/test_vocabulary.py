"""mypy accepts names wherever the table does, and still rejects wrong calls.

Two runs of mypy, with the plugin and without, over the fixtures and over calls of every row.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from tests.mypy_plugin.named_calls import NamedCall, all_calls
from tests.mypy_plugin.projects import ALONE, CODES, MYPY, ROOT, Project, Run, seeded

FIXTURES: Final = {
    path.name: path.read_text("utf-8")
    for path in sorted((ROOT / "fixtures" / "mypy" / "vocabulary").glob("*.py"))
}
CALLS: Final = "calls.py"

# The one call with names that torch 2.13's stubs still have.
KEPT: Final = 'torch.full([1, 2], 1, names=["N", "C"])'

_EXPECTATION: Final = re.compile(r"# ([ER]): ([^#\n]*)")
_REVEALED: Final = "Revealed type is "
_KEYWORD: Final = "Unexpected keyword argument"


@dataclass(frozen=True, slots=True)
class Said:
    """The message of mypy for one line."""

    severity: str
    code: str
    message: str


Told: TypeAlias = "Mapping[tuple[str, int], list[Said]]"


@dataclass(frozen=True, slots=True)
class Runs:
    """The messages of mypy for the fixtures and the calls, with the plugin and without."""

    with_plugin: Told
    without: Told


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, torch_cache: Path) -> Runs:
    """One run with the plugin and one without, for all tests here."""
    folder = tmp_path_factory.mktemp("vocabulary")
    with_plugin = seeded(folder / "with", torch_cache)
    without = Project(folder / "without")
    without.write({"pyproject.toml": f"[tool.mypy]\nstrict = true\n{ALONE}"})
    for project in (with_plugin, without):
        project.write({**FIXTURES, CALLS: _program(all_calls())})
    return Runs(_told(with_plugin.mypy()), _told(without.mypy()))


def _told(run: Run) -> Told:
    """The messages for each line; findings about names are not the vocabulary's."""
    told: defaultdict[tuple[str, int], list[Said]] = defaultdict(list)
    for record in run.records:
        if record["code"] not in CODES:
            said = Said(record["severity"], record["code"] or "", record["message"])
            told[record["file"], record["line"]].append(said)
    return told


def _program(calls: list[NamedCall]) -> str:
    """Three lines a call: with names, with ints, and with a wrong type."""
    lines = [f"{call.names}\n    {call.ints or 'pass'}\n    {call.neither}" for call in calls]
    return "import torch\n\n\ndef calls(x: torch.Tensor) -> None:\n    " + "\n    ".join(lines)


def _errors(told: Told, file: str, line: int) -> list[Said]:
    return [said for said in told.get((file, line), ()) if said.severity == "error"]


def _lines(file: str) -> Iterator[tuple[int, str]]:
    return enumerate(FIXTURES[file].splitlines(), 1)


@pytest.mark.parametrize("file", FIXTURES)
def test_fixtures(file: str, runs: Runs) -> None:
    """Every error and every revealed type is the one that its line expects."""
    wrong = []
    for number, line in _lines(file):
        expected = _expected(line)
        told = [_short(said) for said in runs.with_plugin.get((file, number), ())]
        if not _agree(expected, [each for each in told if each]):
            wrong.append(f"{file}:{number}: {line.strip()}\n    told: {told}")
    assert not wrong, "\n".join(wrong)


def _expected(line: str) -> list[tuple[str, str]]:
    """The errors and the revealed types that a line expects of this mypy."""
    expected = [(mark, text.strip()) for mark, text in _EXPECTATION.findall(line)]
    if MYPY < (2, 0) and len(expected) > 1:  # of overloads it says no more than that none fits
        return [(mark, text) for mark, text in expected if not text.startswith(_KEYWORD)]
    return expected


def _short(said: Said) -> tuple[str, str] | None:
    if said.message.startswith(_REVEALED):
        return "R", said.message.removeprefix(_REVEALED).strip('"')
    return ("E", said.message) if said.severity == "error" else None


def _agree(expected: list[tuple[str, str]], told: list[tuple[str, str]]) -> bool:
    """An error contains the expected text; a revealed type equals it."""
    return len(expected) == len(told) and all(
        mark == kind and (text in message if mark == "E" else text == message)
        for (mark, text), (kind, message) in zip(expected, told, strict=True)
    )


def test_without_the_plugin_the_fixtures_are_refused(runs: Runs) -> None:
    """Every marked line is an error in mypy alone; so the tests above can fail."""
    silent = [
        f"{file}:{number}: {line}"
        for file in FIXTURES
        for number, line in _lines(file)
        if "  # names" in line and not _errors(runs.without, file, number)
    ]
    assert not silent


def test_names_are_taken_where_ints_are(runs: Runs) -> None:
    """A call with names has the same messages as the call with ints: usually none."""
    wrong = []
    for index, call in enumerate(all_calls()):
        line = 5 + 3 * index
        by_names = _errors(runs.with_plugin, CALLS, line)
        by_ints = _errors(runs.with_plugin, CALLS, line + 1)
        if [each.code for each in by_names] != [each.code for each in by_ints]:
            wrong.append(f"{call.names}: {by_names}")
    assert not wrong, "\n".join(wrong)


def test_what_ints_cannot_say_is_untyped_in_the_stubs(runs: Runs) -> None:
    """A call with ints is rejected only where a method has no types."""
    codes = {
        said.code
        for index, call in enumerate(all_calls())
        for said in _errors(runs.with_plugin, CALLS, 6 + 3 * index)
        # torch annotates its dim as one int, and takes several.
        if "normalize(" not in call.ints
    }
    assert codes == {"no-untyped-call"}


def test_what_is_neither_int_nor_name_is_refused(runs: Runs) -> None:
    """Without the plugin typed stubs reject it, and names too; with it, only wrong types."""
    wrong = []
    typed = 0
    for index, call in enumerate(all_calls()):
        line = 5 + 3 * index
        refused = bool(_errors(runs.without, CALLS, line + 2))
        typed += refused
        if bool(_errors(runs.without, CALLS, line)) != refused and call.names != KEPT:
            wrong.append(f"without the plugin: {call.names}")
        if bool(_errors(runs.with_plugin, CALLS, line + 2)) != refused:
            wrong.append(f"with the plugin: {call.neither}")
    assert not wrong, "\n".join(wrong)
    assert typed > len(all_calls()) / 2


NET: Final = """\
from torch import Tensor, nn


class Base(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Net(Base):
    pass
"""
MADE: Final = {
    "net.py": NET,
    "made.py": "import net\n\nmade = net.Net()\n",
    "use.py": """\
import made
from torch import Tensor


def use(x: Tensor) -> None:
    made.made(x).dim()
""",
}
OWN: Final = """\
    def forward(self, x: Tensor) -> list[Tensor]:  # type: ignore[override]
        return [x]
"""
NO_DIM: Final = '"list[Tensor]" has no attribute "dim"'


def test_what_a_module_gives_is_never_stale(project: Project) -> None:
    """``forward`` changes in a file that the call's file does not import, and back."""
    project.write(MADE)
    assert project.mypy().records == []
    project.replace(
        "net.py", "-> Tensor:\n        return x", "-> list[Tensor]:\n        return [x]"
    )
    [record] = project.mypy().records
    assert (record["file"], record["message"]) == ("use.py", NO_DIM)
    project.write(MADE)
    assert project.mypy().records == []


def test_the_daemon_follows_what_a_module_gives(small_project: Project) -> None:
    """The same in a daemon, and where a class gets a ``forward`` of its own."""
    small_project.write(MADE)
    assert "Success" in small_project.daemon("run", "--", ".").out
    small_project.replace(
        "net.py", "-> Tensor:\n        return x", "-> list[Tensor]:\n        return [x]"
    )
    assert NO_DIM in small_project.daemon("recheck").out
    small_project.write(MADE)
    assert "Success" in small_project.daemon("recheck").out
    small_project.replace("net.py", "    pass\n", OWN)
    assert NO_DIM in small_project.daemon("recheck").out
    small_project.write(MADE)
    assert "Success" in small_project.daemon("recheck").out
