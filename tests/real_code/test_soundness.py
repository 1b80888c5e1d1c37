"""The soundness campaign: what it notes of a run, and how it judges what was inferred."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from namecheck.core.evidence import Evidence
from namecheck.core.syntax import Position
from tests.real_code.soundness.__main__ import Activations, Shapes, judged, programs, table
from tests.real_code.soundness.claims import Verdict
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
"""
_RUN = """
import json, sys
from tests.real_code.soundness.runs import shapes_of
sys.path.insert(0, sys.argv[1])
program = {"imports": "import made", "call": "made.heads(torch.ones(2, 3, 4), 2), made.lazily()"}
shapes, errors = shapes_of("made", [program])
assert not errors, errors
made = sys.argv[2]
seen = [[list(place), sorted(each)] for place, each in shapes.seen[made].items()]
activations = [list(each.shapes.items()) for each in shapes.activations.ended()]
print(json.dumps({"seen": seen, "activations": activations}))
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("soundness") / "made.py"
    path.write_text(_MODULE, "utf-8")
    return path


@pytest.fixture(scope="module")
def noted(module: Path) -> Any:
    command = [sys.executable, "-c", _RUN, str(module.parent), str(module)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def shapes(module: Path, noted: Any) -> Shapes:
    return {module: {Position(*at): [*map(tuple, seen)] for at, seen in noted["seen"]}}


@pytest.fixture(scope="module")
def activations(module: Path, noted: Any) -> Activations:
    each = [
        {Position(*at): tuple(map(tuple, seen)) for at, seen in activation}
        for activation in noted["activations"]
    ]
    return {module: each}


def test_the_shapes_of_a_run_are_noted(module: Path, shapes: Shapes) -> None:
    by_line: dict[int, set[tuple[int, ...]]] = {}
    for (line, *_), seen in shapes[module].items():
        by_line.setdefault(line, set()).update(seen)
    assert by_line[5] == {(2, 3, 4)}
    assert by_line[6] == {(2, 3, 4), (2, 3, 2, 2), (2, 2, 3, 2)}
    assert (2, 12) in by_line[9]


def test_what_is_inferred_fits_the_run(shapes: Shapes, activations: Activations) -> None:
    verdicts = Counter(result for result, _ in judged(shapes, activations, Evidence.OBSERVED))
    assert verdicts[Verdict.INCORRECT] == 0
    assert verdicts[Verdict.KNOWN] >= 3


@pytest.mark.parametrize("wrong", [(2, 3), (2, 3, 4, 5), (7,)])
def test_another_rank_is_incorrect(module: Path, shapes: Shapes, wrong: tuple[int, ...]) -> None:
    seen_at = shapes[module].items()
    place = next(at for at, seen in seen_at if seen == [(2, 3, 4)] and at.line == 6)
    [(result, text)] = judged({module: {place: [(2, 3, 4), wrong]}}, {}, Evidence.OBSERVED)
    assert result is Verdict.INCORRECT
    assert f"{module}:6:" in text


def test_a_size_that_another_expression_binds_is_compared(
    module: Path, shapes: Shapes, activations: Activations
) -> None:
    """In ``[B, T, count, C // count]`` the dims of ``x.shape`` say what B and T are."""
    place = next(at for at, seen in shapes[module].items() if (2, 3, 2, 2) in seen)
    scrambled = [{**each, place: ((3, 2, 2, 2),)} for each in activations[module] if place in each]
    [(result, text)] = judged(
        {module: {place: shapes[module][place]}}, {module: scrambled}, Evidence.OBSERVED
    )
    assert result is Verdict.INCORRECT
    assert "(3, 2, 2, 2), where" in text
    assert "B = 2" in text


def test_a_table_counts_the_verdicts() -> None:
    count = Counter({Verdict.KNOWN: 3, Verdict.UNKNOWN: 1, Verdict.INCORRECT: 1})
    *_, all_ = table({"made": count})
    assert all_ == "| all | 5 | 3 (60%) | 0 | 1 |"


def test_the_programs_have_a_package_each() -> None:
    assert sum(map(len, programs().values())) >= 60
