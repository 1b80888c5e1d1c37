"""Measures commands: processor time and memory of a process and of its children."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BESIDE_PYTHON: Final = Path(sys.executable).parent
MEBIBYTE: Final = 1 << 20
# The address space of a limited process: far above its memory limit, so that the peak is seen.
_ADDRESS_SPACE: Final = 4 << 30
# The limit of wall time, as a multiple of the limit of processor time.
_PATIENCE: Final = 12


@dataclass(frozen=True)
class Run:
    """One finished process.

    `seconds` is its processor time with that of its children, `wall` the wall time, `mebibytes` the
    peak memory of the largest of them, `output` its output.
    """

    seconds: float
    wall: float
    mebibytes: float
    code: int
    output: str = ""


def measure(command: Sequence[str], folder: Path | None = None) -> Run:
    """Run a command without its output; an exit code above 1 is a failure."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    code = process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stderr is not None
    with process.stderr as stderr:
        if code not in (0, 1):
            raise SystemExit(f"{' '.join(command)}: exit code {code}\n{stderr.read().decode()}")
    return Run(_processor_time(usage), wall, usage.ru_maxrss * 1024 / MEBIBYTE, code)


def measure_limited(command: Sequence[str], seconds: int, folder: Path | None = None) -> Run:
    """Run a command with a limit of processor time; a signal that ends it is its code."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))

    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, preexec_fn=limit
        )
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            if time.perf_counter() - begin > seconds * _PATIENCE:
                process.kill()
            time.sleep(0.02)
        wall = time.perf_counter() - begin
        _, status, usage = ended
        code = process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Run(_processor_time(usage), wall, usage.ru_maxrss * 1024 / MEBIBYTE, code, text)


def _processor_time(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def in_turns(
    ours: Sequence[str], theirs: Sequence[str], rounds: int
) -> tuple[list[Run], list[Run]]:
    """Both commands by turns, after one round that warms the file cache."""
    measure(ours), measure(theirs)
    first: list[Run] = []
    second: list[Run] = []
    for _ in range(rounds):
        first.append(measure(ours))
        second.append(measure(theirs))
    return first, second


def report(title: str, ours: Sequence[Run], name: str, theirs: Sequence[Run]) -> None:
    """Medians of both sides and of the ratio of neighbouring runs."""
    ratios = [a.seconds / b.seconds for a, b in zip(ours, theirs, strict=True)]
    print(f"{title}, {len(ours)} runs each by turns, processor time, medians")
    for who, runs in (("namecheck", ours), (name, theirs)):
        seconds = statistics.median(run.seconds for run in runs)
        wall = statistics.median(run.wall for run in runs)
        peak = max(run.mebibytes for run in runs)
        print(f"  {who:<15} {seconds:8.3f} s ({wall:.3f} s wall)   peak {peak:6.0f} MiB")
    print(
        f"  ratio           {statistics.median(ratios):8.2f}     "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


def report_alone(title: str, runs: Sequence[Run]) -> None:
    """The median and the best of some runs."""
    seconds = statistics.median(run.seconds for run in runs)
    best = min(run.seconds for run in runs)
    wall = statistics.median(run.wall for run in runs)
    peak = max(run.mebibytes for run in runs)
    print(f"{title}: {seconds:.3f} s (best {best:.3f}; {wall:.3f} wall), peak {peak:.0f} MiB")


def tool(name: str) -> str:
    """The path of a command installed beside this Python."""
    path = BESIDE_PYTHON / name
    if not path.exists():
        raise SystemExit(f"{name} is not installed beside {sys.executable}")
    return str(path)


def check(*paths: Path) -> list[str]:
    """The command that checks these paths; it keeps no cache."""
    return [tool("namecheck"), "check", "--no-cache", *map(str, paths)]


def check_alone(*paths: Path | str) -> list[str]:
    """The same in one process, each finding on a line of its own."""
    command = [tool("namecheck"), "check", "--no-cache", "-j", "1", "--output-format", "concise"]
    return [*command, *map(str, paths)]


def start_up_seconds(folder: Path, rounds: int) -> float:
    """The median processor time of a check of an empty file."""
    nothing = folder / "nothing.py"
    nothing.write_text("")
    command = check_alone(nothing)
    return statistics.median(measure(command).seconds for _ in range(rounds))
