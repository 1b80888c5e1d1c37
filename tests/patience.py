"""Processes with a limit that a loaded machine does not reach: of processor time, not of time.

A process fails its test if it uses more processor time than the limit, or if it and its children
use none for as long as the limit. On a system without ``/proc`` the limit is one of time.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

_PROC: Final = Path("/proc")
_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
# The fields of /proc/PID/stat after the name of the command.
_PARENT: Final = 1
_TIMES: Final = slice(11, 15)


_Taken = TypeVar("_Taken")


def run(
    command: Sequence[str],
    limit: float,
    input: bytes | None = None,
    servers: Callable[[], Iterable[int]] = tuple,
    **how: Any,
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run` with captured output; raises `subprocess.TimeoutExpired` at the limit.

    `servers` are processes that work for the command without being its children.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    if input is not None:
        pipes["stdin"] = subprocess.PIPE
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        spent = -1.0
        while True:
            try:
                out, err = process.communicate(input, timeout=limit)
                return subprocess.CompletedProcess(command, process.returncode, out, err)
            except subprocess.TimeoutExpired:
                input, before = None, spent
                spent = sum(max(processor_time(each), 0) for each in (process.pid, *servers()))
                if not before < spent < limit:
                    _end(process)
                    raise
            except BaseException:
                _end(process)
                raise


def take(get: Callable[[float], _Taken], process: int, limit: float) -> _Taken:
    """What a process sends: `get` waits for it, and raises an error after so many seconds.

    The error is raised again only if the process has reached the limit meanwhile.
    """
    spent = -1.0
    while True:
        try:
            return get(limit)
        except Exception:
            before, spent = spent, processor_time(process)
            if not before < spent < limit:
                raise


def _end(process: subprocess.Popen[Any]) -> None:
    """Kill a process with all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def processor_time(process: int) -> float:
    """The seconds of processor time of a process, its children and theirs; -1 if unknown."""
    stats = dict(_stats())
    if process not in stats:
        return -1
    family = {process}
    while more := {pid for pid, (parent, _) in stats.items() if parent in family} - family:
        family |= more
    return sum(stats[pid][1] for pid in family)


def _stats() -> Iterator[tuple[int, tuple[int, float]]]:
    """Each process: its parent, and its processor time with that of children that have ended."""
    for folder in _PROC.glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        yield int(folder.name), (int(fields[_PARENT]), sum(map(int, fields[_TIMES])) / _TICKS)
