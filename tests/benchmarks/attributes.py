"""The cost of checking attributes, in files that name dimensions and in others."""

from __future__ import annotations

import ast
import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final
from unittest import mock

import torch

from namecheck import operators
from namecheck.core import syntax
from namecheck.interpreter.workspace import analysis
from namecheck.project import Entry
from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings
from tests.benchmarks.programs import pair

LAYERS: Final = Path(torch.__file__).parent / "nn"
PROGRAMS: Final = 100


def everywhere(rounds: int) -> None:
    """l: the files of ``torch.nn`` without names, beside parsing them and a walk."""
    files = [path for path in LAYERS.rglob("*.py") if _names_nothing(path.read_bytes())]
    settings = Settings(attributes="all")
    entries = [Entry(str(path), str(path), settings) for path in files]

    def check() -> None:
        checker = Checker()
        for entry in entries:
            checker.file(entry, parses=True, leads=False)

    lines = sum(path.read_bytes().count(b"\n") for path in files)
    title = f"(l) {lines:,} lines of torch.nn checked for attributes"
    _report(title, check, lambda: _walk(files), "parse and walk", rounds)


def among_names(rounds: int) -> None:
    """n: programs full of names, with and without the rules for attributes.

    Each program is checked both ways by turns, and its quickest run of each counts: other load on
    the machine slows single runs, and neither side more than the other.
    """
    sources = [
        syntax.parse(pair(seed)[0].encode(), f"program_{seed}.py") for seed in range(PROGRAMS)
    ]
    quickest = [[math.inf, math.inf] for _ in sources]
    for turn in range(rounds * 3):
        known: tuple[analysis.Inferences, analysis.Inferences] = ({}, {})
        gc.collect()
        for best, source in zip(quickest, sources, strict=True):
            for way in (0, 1) if turn % 2 else (1, 0):
                with _without_attributes() if way else nullcontext():
                    begin = time.process_time_ns()
                    analysis.check(source, inferences=known[way])
                    best[way] = min(best[way], time.process_time_ns() - begin)
    ours, without = (sum(best) / 1e9 for best in zip(*quickest, strict=True))
    print(
        f"(n) {PROGRAMS} programs full of names, processor time, quickest of {rounds * 3} runs each"
    )
    print(f"  namecheck       {ours:8.3f} s")
    print(f"  without         {without:8.3f} s")
    print(f"  ratio           {ours / without:8.3f}")


def _without_attributes() -> AbstractContextManager[Any]:
    plain = operators.infer

    def nameless(*args: Any, **kwargs: Any) -> operators.Inference:
        return plain(*args, **{**kwargs, "around": None})

    return mock.patch.object(operators, "infer", nameless)


def _names_nothing(data: bytes) -> bool:
    return syntax.imports_torch(data) and not syntax.names_something(data)


def _walk(files: Iterable[Path]) -> None:
    for path in files:
        for _ in ast.walk(ast.parse(path.read_bytes())):
            pass


def _report(
    title: str, ours: Callable[[], None], other: Callable[[], None], name: str, rounds: int
) -> None:
    """Processor time of both by turns, in one process, and the median of their ratios."""
    ours()
    other()
    times = [(_timed(ours), _timed(other)) for _ in range(rounds)]
    ratios = [one / two for one, two in times]
    print(f"{title}, {rounds} runs each by turns, processor time, medians")
    for who, taken in zip(("namecheck", name), zip(*times, strict=True), strict=True):
        print(f"  {who:<15} {statistics.median(taken):8.3f} s")
    median = statistics.median(ratios)
    print(f"  ratio           {median:8.2f}     ({min(ratios):.2f} to {max(ratios):.2f})")


def _timed(run: Callable[[], None]) -> float:
    gc.collect()
    begin = time.process_time()
    run()
    return time.process_time() - begin
