"""The pairs of programs under fixtures/, on both sides: nothing inferred is incorrect."""

from __future__ import annotations

import contextlib
import runpy
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from namecheck.compare import join
from namecheck.compare.join import Joined, Verdict
from namecheck.core.semantics import Semantics
from namecheck.interpreter.workspace import analysis
from namecheck.runtime.programs.recording import Recording, recording
from tests.fixture_reader import Program, pairs

PAIRS = [*pairs("programs"), *pairs("natural")]


@pytest.fixture(scope="module", params=list(Semantics), ids=lambda semantics: semantics.value)
def recorded(request: Any) -> Iterator[tuple[Semantics, Recording]]:
    with recording(request.param) as noted:
        yield request.param, noted


def test_pairs_agree(
    recorded: tuple[Semantics, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    semantics, noted = recorded
    programs = [p for pair in PAIRS for p in (pair.bug, pair.ok) if p.semantics is semantics]
    joined = [one for program in programs for one in compared(program, noted)]
    told = [show(one) for one in joined if one.verdict is Verdict.INCORRECT]
    assert not told, "\n".join(told)
    observed = [one for one in joined if one.verdict is not Verdict.UNREACHED]
    agree = [one for one in observed if one.verdict is Verdict.AGREE]
    assert len(agree) >= 0.97 * len(observed)


def compared(program: Program, noted: Recording) -> tuple[Joined, ...]:
    """Both sides of a program, with its run up to its end or its error."""
    source = program.source
    static = analysis.observe(source, semantics=program.semantics)
    noted.watch({source.filename: source})
    with warnings.catch_warnings(), contextlib.suppress(SystemExit):
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(str(program.path), run_name="__main__")
        except Exception as error:
            noted.ended(error)
    return join.sides(static, noted.seen, noted.activations.ended())


def show(one: Joined) -> str:
    at = f"{one.filename}:{one.position.line}:{one.position.column + 1}"
    return f"{at}: inferred {one.static}; observed {' | '.join(one.observed)} ({one.fault})"
