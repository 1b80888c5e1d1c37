"""Every Python file of the installed packages is analysed without an internal error.

A file that names no dimension has no findings; it may be judged in part, and say so. The
everyday run takes a fixed sample of the files, with ``NAMECHECK_ALL_FILES=1`` in the environment
all of them.
"""

from __future__ import annotations

import os
import signal
import sysconfig
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from namecheck.core import syntax
from namecheck.core.findings import Kind, register
from namecheck.interpreter.evaluation.findings import NOT_JUDGED
from namecheck.interpreter.workspace import analysis

PACKAGES: Final = Path(sysconfig.get_path("purelib"))
ONE_IN: Final = 1 if os.environ.get("NAMECHECK_ALL_FILES") else 240
PARTS: Final = 12
LONGEST_FILE: Final = 90


def installed() -> Sequence[Path]:
    """The files of the sample: the same ones in every run, spread over all packages."""
    return [
        path
        for path in sorted(PACKAGES.rglob("*.py"))
        if zlib.crc32(path.relative_to(PACKAGES).as_posix().encode()) % ONE_IN == 0
    ]


FILES: Final = installed()


def test_there_are_files_to_look_at() -> None:
    assert len(FILES) > 20


class TooLong(BaseException):
    """The analysis of one file takes too long; no handler in it may catch this."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise `TooLong` if the body takes more processor time."""

    def stop(signal_number: int, frame: FrameType | None) -> None:
        raise TooLong

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


@pytest.mark.parametrize("part", range(PARTS))
def test_installed_files(part: int) -> None:
    faults = []
    for path in FILES[part::PARTS]:
        data = path.read_bytes()
        try:
            with at_most(LONGEST_FILE):
                found = analysis.check(syntax.parse(data, str(path))).findings
        except syntax.Refused:
            continue
        except (Exception, TooLong) as error:
            faults.append(f"{path}: {type(error).__name__}: {error}")
            continue
        if not syntax.names_something(data):
            kinds = register()
            faults += [
                f"{path}:{finding.span.line}: {finding.code} {finding.message}"
                for finding in found
                if kinds[finding.code].kind is not Kind.FILE and finding.code != NOT_JUDGED
            ]
    assert not faults, "\n".join(faults)
