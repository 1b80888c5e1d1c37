"""Runs a Python module in a process with limits of memory, processor time and wall-clock time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MEBIBYTE: Final = 1 << 20
_LARGEST_OUTPUT: Final = 64 << 20
"""The bytes of standard output, and of standard error, that are read."""

# The process limits itself, as code between fork and exec may deadlock beside other threads.
_START: Final = """
import resource, runpy, sys
space, seconds, size = map(int, sys.argv[1:4])
resource.setrlimit(resource.RLIMIT_AS, (space, space))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
del sys.argv[:4]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one process; `mebibytes` is its address space."""

    seconds: int = 120
    wall_seconds: int = 600
    mebibytes: int = 4096
    file_mebibytes: int = 64


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended: `code` is minus the number of the signal that killed it.

    `seconds` is processor time, `mebibytes` the peak of its memory.
    """

    code: int
    seconds: float
    wall_seconds: float
    mebibytes: float
    timed_out: bool
    output: str
    errors: str


def run_limited(
    module: str,
    arguments: Sequence[str],
    limits: Limits,
    folder: Path,
    code: Path | None,
    python: str = sys.executable,
) -> Ended:
    """Run a module in a folder, from which it imports nothing, with `code` first in its path."""
    values = (limits.mebibytes * _MEBIBYTE, limits.seconds, limits.file_mebibytes * _MEBIBYTE)
    command = [python, "-P", "-c", _START, *map(str, values), module, *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    if code is not None:
        environment["PYTHONPATH"] = str(code)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        expired = threading.Event()
        timer = threading.Timer(limits.wall_seconds, _expire, (process.pid, expired))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            _kill(process.pid)
            raise
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        return Ended(
            process.returncode,
            usage.ru_utime + usage.ru_stime,
            time.perf_counter() - begin,
            usage.ru_maxrss * 1024 / _MEBIBYTE,
            expired.is_set(),
            output.read(_LARGEST_OUTPUT).decode(errors="replace"),
            errors.read(_LARGEST_OUTPUT).decode(errors="replace"),
        )


def _expire(pid: int, expired: threading.Event) -> None:
    expired.set()
    _kill(pid)


def _kill(pid: int) -> None:
    """Kill the session of a process, with the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
