"""Released projects: lines per second of processor time, and runs of function bodies."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from unittest import mock

from namecheck.cli import main
from namecheck.core import syntax
from namecheck.interpreter.evaluation.calls import Calls
from tests.benchmarks.processes import check_alone, measure_limited

_STOPPED_AFTER: Final = 600
_TARGET: Final = 3_000
_RUNS: Final = 3


def run(folders: Sequence[Path]) -> None:
    """The figures of the projects in some folders, one line each."""
    if not folders:
        print("(q) no --project is given")
        return
    print("(q) released projects, one process, without a cache")
    print("project                 torch lines  seconds  lines/s   MiB  functions   mean  most")
    rates: list[float] = []
    for folder in folders:
        lines = _torch_lines(folder)
        ended = measure_limited(check_alone("."), _STOPPED_AFTER, folder)
        rate = lines / ended.seconds
        rates.append(rate)
        print(
            f"{folder.name:<24} {lines:>10,} {ended.seconds:>8.2f} {rate:>8,.0f} "
            f"{ended.mebibytes:>5.0f} {_runs_of_bodies(folder, ended.code)}",
            flush=True,
        )
    print(f"slowest {min(rates):,.0f} lines/s (target {_TARGET:,}); mean runs: target {_RUNS}")


def _torch_lines(folder: Path) -> int:
    """The lines of the files that import torch."""
    texts = (path.read_bytes() for path in folder.rglob("*.py") if path.is_file())
    return sum(text.count(b"\n") for text in texts if syntax.imports_torch(text))


def _runs_of_bodies(folder: Path, code: int) -> str:
    """How many functions run, how often on average, and how often the most frequent one."""
    if code not in (0, 1):
        return f"stopped (code {code})"
    runs: Counter[Any] = Counter()
    plain = Calls.run_body

    def counted(self: Calls, function: Any, *rest: Any) -> Any:
        runs[function.node] += 1
        return plain(self, function, *rest)

    command = ["check", ".", "--no-cache", "-j", "1", "--exit-zero"]
    with (
        mock.patch.object(Calls, "run_body", counted),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        main.main(command)
    if not runs:
        return "        0"
    most, times = runs.most_common(1)[0]
    return f"{len(runs):>9} {runs.total() / len(runs):>6.1f} {times:>5} ({_name(most)})"


def _name(node: Any) -> str:
    return getattr(node, "name", "<lambda>")
