"""Cached fixes are the same as those of a new search."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import pytest

import namecheck
from namecheck import project
from namecheck.core.findings import Finding, Fix
from namecheck.fixing import offers, proposals, trials
from namecheck.project import Walk
from namecheck.project.cache import FILE, FOLDER, Cache
from namecheck.project.settings import Settings

SHIFT: Final = "def shift(x, by):\n    return x + by\n"
USE: Final = """\
import torch
from pkg.ops import shift

x = torch.rand(2, 3, names=("N", "C"))
shift(x, torch.ones(2, names=("N",)))
"""
MANY: Final = 10**9


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("pkg/__init__.py", "")
    write("pkg/ops.py", SHIFT)
    write("use.py", USE)
    return tmp_path


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def offered(cached: bool = True, settings: Settings | None = None) -> dict[Finding, Fix]:
    """The fixes for the findings of the working folder."""
    time.sleep(0.01)
    cache = Cache(FOLDER) if cached else None
    walk = Walk() if settings is None else Walk(lambda found: settings)
    entries = walk.entries(["."])
    found = project.check(entries, jobs=1, cache=cache).findings
    return dict(offers.offer(entries, found, MANY, cache=cache).fixes)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """The findings whose fixes are tried."""
    listed: list[Finding] = []
    plain = proposals.Proposals.attempt

    def counted(self: proposals.Proposals, finding: Finding) -> proposals.Attempt:
        listed.append(finding)
        return plain(self, finding)

    monkeypatch.setattr(proposals.Proposals, "attempt", counted)
    return listed


def test_what_was_tried_is_not_tried_again(folder: Path, tried: list[Finding]) -> None:
    first = offered()
    assert [fix.message for fix in first.values()] == ["Align `by` by its names: `.align_as(x)`."]
    assert len(tried) == 1
    assert offered() == first
    assert len(tried) == 1
    write("use.py", USE + "x.sum('n')\n")
    assert len(offered()) == 2
    assert len(tried) == 3


def test_fixes_of_one_file_do_not_depend_on_another(folder: Path, tried: list[Finding]) -> None:
    write("apart.py", "import torch\n\ntorch.zeros(2, names=('N',)).sum('n')\n")
    assert len(offered()) == len(tried) == 2
    write("use.py", USE + "print(x.names)\n")
    assert len(offered()) == 2
    assert [finding.filename for finding in tried[2:]] == ["pkg/ops.py"]


def test_findings_that_came_too_late_are_tried_the_next_time(folder: Path) -> None:
    write("apart.py", "import torch\n\ntorch.zeros(2, names=('N',)).sum('n')\n")
    counts = []
    for _ in range(3):
        time.sleep(0.01)
        cache = Cache(FOLDER)
        entries = Walk().entries(["."])
        found = project.check(entries, jobs=1, cache=cache).findings
        offer = offers.offer(entries, found, 1, cache=cache)
        counts.append((len(offer.fixes), len(offer.untried)))
    assert counts == [(1, 1), (2, 0), (2, 0)]


def test_what_takes_too_long_is_left_to_another_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tried: list[Finding]
) -> None:
    annotated = "from torch import Tensor\nfrom typing import Annotated\n\n"
    head = "def f(x: Annotated[Tensor, 'a b c']) -> Annotated[Tensor, 'a c']:\n"
    write("use.py", f"{annotated}{head}    return x.mean(2)\n")
    write("pkg/ops.py", "")
    with monkeypatch.context() as impatient:
        impatient.setattr(offers, "PATIENCE", 1)
        assert offered() == offered() == {}
        assert len(tried) == 1
    assert [fix.message for fix in offered().values()] == ["Take dim 1 in `x.mean(2)`."]


EDITS: Final[dict[str, list[str | None]]] = {
    "use.py": [USE, USE.replace('("N",)', '("C",)'), USE.replace("2, n", "2, 3, n"), ""],
    "pkg/ops.py": [SHIFT, SHIFT.replace("+", "*"), SHIFT.replace("x + by", "by + x"), None],
    "pkg/__init__.py": ["", "from pkg.ops import shift\n", None],
    "pkg.py": [None, "def ops():\n    pass\n"],
    "pkg/ops/__init__.py": [None, SHIFT],
    "other.py": [None, USE, USE.replace('torch.ones(2, names=("N",))', "torch.ones(2)")],
    "pyproject.toml": [
        "[tool.namecheck]\n",
        "[tool.namecheck]\nselect = ['NC101']\n",
        "[tool.namecheck]\nsemantics = 'torch-2.12'\n",
    ],
}


@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_is_what_is_found_anew(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    held = 0
    for _ in range(12):
        name = rng.choice([*EDITS])
        text = rng.choice(EDITS[name])
        if text is not None:
            write(name, text)
        elif Path(name).exists():
            Path(name).unlink()
        for _ in range(2):
            anew = offered(cached=False)
            assert offered() == anew
            held += len(anew)
    assert held


def test_settings_count(folder: Path, tried: list[Finding]) -> None:
    offered()
    write("pyproject.toml", "[tool.namecheck]\nignore = ['NC103']\n")
    offered()
    assert len(tried) == 2
    offered(settings=Settings(output_format="json", ignore=("NC103",), root=str(folder)))
    assert len(tried) == 2
    offered(settings=Settings(ignore=("NC104",)))
    assert len(tried) == 3


def test_a_record_that_was_changed_does_not_count(folder: Path, tried: list[Finding]) -> None:
    first = offered()
    with sqlite3.connect(Path(FOLDER, FILE)) as connection:
        connection.execute("UPDATE outcomes SET record = replace(record, 'align_as', 'crash')")
    assert offered() == first
    assert len(tried) == 2


def test_not_many_runs_are_remembered(folder: Path) -> None:
    for number in range(8):
        write(f"more_{number}.py", "")
        offered()
    with sqlite3.connect(Path(FOLDER, FILE)) as connection:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM outcomes WHERE substr(context, 1, 5) = ?", (b"fixes",)
        )
    assert count == 4


def test_what_is_remembered_is_shown_without_the_interpreter(folder: Path) -> None:
    past = time.time() - 3600
    for name in ("use.py", "pkg/ops.py", "pkg/__init__.py"):
        os.utime(name, (past, past))
    program = (
        "import sys\nfrom namecheck.cli import main\nstatus = main.main(['check'])\n"
        "loaded = [m for m in sys.modules if m.startswith(('namecheck.interpreter', "
        "'namecheck.rules', 'namecheck.fixing.proposals', 'libcst'))]\n"
        "print(len(loaded), status)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(namecheck.__file__).parents[1])}
    told = []
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        told.append(ran.stdout.splitlines())
    assert told[0][:-1] == told[1][:-1]
    assert any("= fix (unsafe)" in line for line in told[1])
    assert told[0][-1] != "0 1"
    assert told[1][-1] == "0 1"


def test_trials_are_limited_by_what_they_cost_not_by_their_length(folder: Path) -> None:
    body = "".join(f"{'    ' * n}for i{n} in range(3):\n" for n in range(1, 6))
    slow = f"def f(x):\n{body}{'    ' * 6}x = x * x + x.relu()\n    return x\n\n"
    finding = "print(f(torch.zeros(2, names=('N',)).sum('n')))\n"
    write("use.py", f"import torch\n\n{slow}{2 * finding}")
    entries = Walk().entries(["use.py"])
    found = project.check(entries, jobs=1).findings
    counts = [
        (len(offer.fixes), len(offer.untried))
        for limit in (20 * entries[0].size, MANY)
        for offer in [offers.offer(entries, found, limit)]
    ]
    assert counts == [(1, 1), (2, 0)]


def test_many_findings_of_a_file_are_tried_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tried: list[Finding]
) -> None:
    """Fixes of five hundred findings took twelve seconds, and four fifths were not tried."""
    monkeypatch.setattr(proposals, "ALONE", 0)
    superfluous = "x = A.relu()  # namecheck: ignore[NC101]\n"
    write("use.py", f"import torch\n\nA = torch.zeros(2, names=('N',))\n{20 * superfluous}")
    cache = Cache(FOLDER)
    entries = Walk().entries(["use.py"])
    found = project.check(entries, jobs=1, cache=cache).findings
    offer = offers.offer(entries, found, MANY, cache=cache)
    assert len(offer.fixes) == 20
    assert not offer.untried
    assert len(tried) == 1
    assert offers.offer(entries, found, MANY, cache=Cache(FOLDER)) == offer
    assert len(tried) == 1


def test_the_record_of_all_values_after_a_fix_is_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was four fifths of the time: two hundred mistakes in one file took half a minute."""
    write("use.py", "import torch\n\nA = torch.zeros(2, 3, names=('N', 'C'))\nA - A.mean('C')\n")
    entries = Walk().entries(["use.py"])
    (finding,) = project.check(entries, jobs=1).findings
    tried = trials.Trials(entries)
    monkeypatch.setattr(trials, "_RECORDED", 0)
    assert proposals.Proposals(tried, MANY).attempt(finding).fix is not None
    checks = tried.spent
    monkeypatch.setattr(trials, "_RECORDED", 1)
    tried = trials.Trials(entries)
    assert proposals.Proposals(tried, MANY).attempt(finding).fix is not None
    assert tried.spent > 1.9 * checks


def test_a_trial_checks_no_file_that_cannot_depend_on_the_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("apart.py", "import torch\n\nprint(torch.zeros(2, names=('N',)))\n")
    checked: set[str] = set()
    findings = trials.Trials.findings

    def noted(
        self: trials.Trials, locations: Collection[str], changed: Mapping[str, bytes]
    ) -> tuple[Finding, ...]:
        checked.update(map(os.path.basename, locations))
        return findings(self, locations, changed)

    monkeypatch.setattr(trials.Trials, "findings", noted)
    # As if the finding named none of the files from which it is reached.
    monkeypatch.setattr(trials.Trials, "around", lambda self, finding: frozenset())
    assert len(offered(cached=False)) == 1
    assert checked == {"ops.py", "use.py"}
