"""The soundness campaign: what it notes of a run, and how it judges what was inferred."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from namecheck.core.evidence import Evidence
from namecheck.runtime.programs.activations import Activation
from tests.real_code.soundness.__main__ import Runs, judged, judged_program, read, table
from tests.real_code.soundness.claims import Verdict, claims_of_program
from tests.real_code.soundness.programs import programs, script_of
from tests.versions.environments import ROOT

_MODULE = """import torch


def heads(x, count):
    B, T, C = x.shape
    parts: list = [x.view(B, T, count, C // count).transpose(1, 2) for _ in range(2)]
    match parts:
        case [first, _]:
            return f"{first.shape}", (lambda y: y.flatten(1))(first) * 2


class Lazy:
    def __getattr__(self, name):
        raise AttributeError(name, self.kind(name))

    def kind(self, name):
        return len(name)


def lazily():
    return Lazy()


def doubled(x):
    return x * 2
"""
_PROGRAM = {
    "imports": "import made",
    "call": "made.heads(torch.ones(2, 3, 4), 2), made.lazily(), made.doubled(torch.ones(2, 5))",
    "again": "made.heads(torch.ones(3, 5, 8), 4)",
}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("soundness") / "made.py"
    path.write_text(_MODULE, "utf-8")
    return path


@pytest.fixture(scope="module")
def script(module: Path) -> Path:
    path = module.parent / "script.py"
    path.write_text(script_of(_PROGRAM), "utf-8")
    return path


@pytest.fixture(scope="module")
def runs(module: Path, script: Path) -> Runs:
    job, out = module.parent / "job", module.parent / "out"
    job.write_text(json.dumps({"package": "made", "scripts": [str(script)]}), "utf-8")
    path = os.pathsep.join([str(module.parent), str(ROOT)])
    command = [sys.executable, "-m", "tests.real_code.soundness.runs", str(job), str(out)]
    run = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not run.stderr
    return read(json.loads(out.read_text("utf-8")))


def activations_of(runs: Runs) -> list[Activation]:
    [activations] = runs.activations.values()
    return list(activations)


def of_program(runs: Runs, script: Path, evidence: Evidence) -> Counter[Verdict]:
    static = claims_of_program(script, "made", script.parent, evidence)
    return Counter(result for result, _ in judged_program(activations_of(runs), static))


def test_the_shapes_of_a_run_are_noted(module: Path, runs: Runs) -> None:
    by_line: dict[int, set[tuple[int, ...]]] = {}
    for (line, *_), seen in runs.shapes[module].items():
        by_line.setdefault(line, set()).update(seen)
    assert by_line[5] == {(2, 3, 4), (3, 5, 8)}
    assert by_line[6] >= {(2, 3, 4), (2, 3, 2, 2), (2, 2, 3, 2), (3, 4, 5, 2)}
    assert (2, 12) in by_line[9]


def test_calls_are_noted_with_their_sites(module: Path, script: Path, runs: Runs) -> None:
    called = [one for one in activations_of(runs) if one.filename == str(module)]
    assert {one.caller.filename for one in called if one.caller} >= {str(script), str(module)}
    top = next(one for one in activations_of(runs) if one.is_top_level)
    assert {one.site.line for one in called if one.caller is top and one.site} == {3, 4}


def test_what_is_inferred_fits_the_run(runs: Runs) -> None:
    verdicts = Counter(result for result, _ in judged(runs, Evidence.OBSERVED))
    assert verdicts[Verdict.INCORRECT] == 0
    assert verdicts[Verdict.KNOWN] >= 3


def test_more_is_known_of_a_program(script: Path, runs: Runs) -> None:
    verdicts = of_program(runs, script, Evidence.OBSERVED)
    assert verdicts[Verdict.INCORRECT] == 0
    alone = Counter(result for result, _ in judged(runs, Evidence.OBSERVED))
    assert verdicts[Verdict.KNOWN] > alone[Verdict.KNOWN]


def test_what_runs_in_a_call_that_is_not_followed_is_unknown(script: Path, runs: Runs) -> None:
    static = claims_of_program(script, "made", script.parent, Evidence.OBSERVED)
    loose = [replace(one, caller=None, site=None) for one in activations_of(runs)]
    verdicts = Counter(result for result, _ in judged_program(loose, static))
    assert set(verdicts) == {Verdict.UNKNOWN}


@pytest.mark.parametrize("wrong", [(2, 3), (2, 3, 4, 5), (7,)])
def test_another_rank_is_incorrect(module: Path, runs: Runs, wrong: tuple[int, ...]) -> None:
    seen_at = runs.shapes[module].items()
    place = next(at for at, seen in seen_at if seen[0] == (2, 3, 4) and at.line == 6)
    changed = Runs({module: {place: [(2, 3, 4), wrong]}})
    [(result, text)] = judged(changed, Evidence.OBSERVED)
    assert result is Verdict.INCORRECT
    assert f"{module}:6:" in text


def test_a_size_that_another_expression_binds_is_compared(
    module: Path, script: Path, runs: Runs
) -> None:
    """In ``[B, T, count, C // count]`` the dims of ``x.shape`` say what B and T are."""
    place = next(at for at, seen in runs.shapes[module].items() if (2, 3, 2, 2) in seen)
    scrambled = [
        replace(one, shapes={**one.shapes, place: ((3, 2, 2, 2),)})
        for one in activations_of(runs)
        if (2, 3, 2, 2) in one.shapes.get(place, ())
    ]
    changed = Runs({module: {place: runs.shapes[module][place]}}, {script: scrambled})
    [(result, text)] = judged(changed, Evidence.OBSERVED)
    assert result is Verdict.INCORRECT
    assert "(3, 2, 2, 2), where" in text
    assert "B = 2" in text


def test_a_table_counts_the_verdicts() -> None:
    count = Counter({Verdict.KNOWN: 3, Verdict.UNKNOWN: 1, Verdict.INCORRECT: 1})
    *_, all_ = table({"made": count})
    assert all_ == "| all | 5 | 3 (60%) | 0 | 1 |"


def test_the_programs_have_a_package_each() -> None:
    assert sum(map(len, programs().values())) >= 60
