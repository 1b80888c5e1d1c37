"""Fixes of many findings in one file: few checks try them all, and a limit ends them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from namecheck import project
from namecheck.core.findings import Finding
from namecheck.fixing import offers, proposals, rounds
from namecheck.fixing.proposals import Attempt, Proposals
from namecheck.fixing.trials import Trials
from namecheck.project import Entry, Walk
from tests.fixes.programs import PROGRAMS, FixedProgram
from tests.running import runner

MANY: Final = 10**9
HEAD: Final = (
    "from typing import Annotated\n\nimport torch\nfrom torch import Tensor\n\n"
    "A = torch.zeros(2, 3, names=('N', 'C'))\n"
)
SWAPPED: Final = (
    "def f{0}(x: Annotated[Tensor, 'a b c']) -> Annotated[Tensor, 'a c']:\n"
    "    return (x.relu() + x).mean(2)\n"
)
DROPPED: Final = "A - A.mean('C')  # {0}\n"
BRINGS: Final = "print(A + torch.rand(3, names=('N',)))  # {0}\n"
CHAINED: Final = "B{0} = A.sum('n').sum('n')\n"
KINDS: Final = (SWAPPED, DROPPED, BRINGS, CHAINED)


def entries(folder: Path, text: str) -> list[Entry]:
    path = folder / "a.py"
    path.write_text(text)
    return Walk().entries([str(path)])


def alone(files: Sequence[Entry], findings: Sequence[Finding]) -> dict[Finding, Attempt]:
    tried = Proposals(Trials(files), MANY)
    return {finding: tried.attempt(finding) for finding in findings}


def together(files: Sequence[Entry], findings: Sequence[Finding]) -> dict[Finding, Attempt]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(proposals, "ALONE", -1)
        return Proposals(Trials(files), MANY).attempts(findings)


def fixes_of(attempts: dict[Finding, Attempt]) -> list[tuple[object, ...]]:
    return [
        (finding.code, finding.span, attempt.fix, {each.reason for each in attempt.refusals})
        for finding, attempt in attempts.items()
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_fixes_that_are_tried_together_are_those_that_hold_alone(
    tmp_path: Path, count: int
) -> None:
    text = HEAD + "".join(kind.format(n) for n in range(count) for kind in KINDS)
    files = entries(tmp_path, text)
    findings = project.check(files, jobs=1).findings
    assert len(findings) == len(KINDS) * count
    assert fixes_of(together(files, findings)) == fixes_of(alone(files, findings))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_fixes_of_an_example_are_the_same_together(program: FixedProgram) -> None:
    overlay = {program.location: program.before.encode()}
    findings = [
        one
        for one in project.check([program.entry], jobs=1, overlay=overlay).findings
        if one.filename == program.location
    ]
    results = []
    for tries in (-1, MANY):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(proposals, "ALONE", tries)
            trials = Trials([program.entry])
            trials.overlay.update(overlay)
            attempts = Proposals(trials, MANY).attempts(findings)
            results.append({one: attempt.fix for one, attempt in attempts.items()})
    assert results[0] == results[1]


@pytest.mark.parametrize(("kind", "count"), [(SWAPPED, 80), (DROPPED, 200)])
def test_many_findings_are_fixed_within_the_limit(tmp_path: Path, kind: str, count: int) -> None:
    """Each took a check of its file, which made 54 s and more."""
    files = entries(tmp_path, HEAD + "".join(map(kind.format, range(count))))
    found = project.check(files, jobs=1)
    assert len(found.findings) == count
    begin = time.process_time()
    mending = rounds.mend(files, found.findings, rounds.Wishes(unsafe=True), costs=found.costs)
    assert time.process_time() - begin < 10
    assert (mending.fixed, mending.left, mending.untried) == (count, (), 0)
    attempts = offers.explain(files, found.findings, costs=found.costs)
    assert all(attempt.fix is not None for attempt in attempts.values())


def test_the_trials_of_a_file_end_at_a_limit(tmp_path: Path) -> None:
    """Each fix brings a finding, which may have a fix too, so each is tried alone."""
    files = entries(tmp_path, HEAD + "".join(map(BRINGS.format, range(60))))
    found = project.check(files, jobs=1)
    trials = Trials(files, found.costs)
    limit = 40 * found.steps
    with trials.limited(files[0].location, limit):
        attempts = Proposals(trials, MANY).attempts(found.findings)
    assert trials.spent < limit
    given_up = [attempt for attempt in attempts.values() if attempt.given_up]
    assert 0 < len(given_up) < 60


@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_is_costly_to_check_is_not_checked_again(tmp_path: Path, known: bool) -> None:
    """Whether its cost is known beforehand or not: a run with a cache does not know it."""
    files = entries(tmp_path, HEAD + DROPPED)
    found = project.check(files, jobs=1)
    trials = Trials(files, found.costs if known else {})
    with trials.limited(files[0].location, 2 * found.steps - 1):
        (attempt,) = Proposals(trials, MANY).attempts(found.findings).values()
    assert attempt.given_up
    assert trials.spent == (0 if known else found.steps)


@pytest.mark.parametrize("flags", [["--diff"], ["--fix"], ["--explain"], ["--diff", "--explain"]])
def test_it_is_said_for_how_many_findings_no_fix_was_tried(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    entries(tmp_path, HEAD + "".join(map(DROPPED.format, range(3))))
    monkeypatch.setattr(rounds, "LIMIT", 1)
    monkeypatch.setattr("namecheck.fixing.trials.LIMIT", 1)
    _, _, err = runner(capsys, "check", "--no-cache", *flags)()
    assert "namecheck: fixes were not tried for 3 findings: to check their files again" in err


def test_json_marks_findings_whose_fixes_were_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    entries(tmp_path, HEAD + "".join(map(DROPPED.format, range(3))))
    check = runner(capsys, "check", "--no-cache", "--output-format", "json")
    assert not any("untried" in item for item in json.loads(check()[1]))
    monkeypatch.setattr("namecheck.fixing.trials.LIMIT", 1)
    assert [item["untried"] for item in json.loads(check("--explain")[1])] == [True] * 3
