"""Failures that end a run of the command early: a line on standard error, and exit status 2.

Status 1 means findings and nothing else, so no error may reach Python, which would exit with 1.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Final, TextIO

from namecheck.cli.console import WRONG, Usage, complain
from namecheck.core.faults import LimitError, TableError
from namecheck.core.regular_files import reason_of

_OF_OUTPUT: Final = {errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EBADF}


def status_of(error: Exception) -> int:
    """Print an error, in one line unless it is a fault of namecheck; returns the exit status."""
    _release(sys.stdout)
    with suppress(OSError):
        _print(error)
    _release(sys.stderr)
    return WRONG


def _print(error: Exception) -> None:
    from namecheck.project.settings import SettingsError

    if isinstance(error, BrokenPipeError):
        return  # who reads the output has seen enough
    if isinstance(error, Usage | TableError | LimitError | SettingsError):
        complain(error)
    elif isinstance(error, ImportError):
        # No verb imports the code that it checks: an ImportError in a script of `run` or `compare`
        # is the script's.
        complain(_other_distribution() or f"the installation is damaged: {error}")
    elif isinstance(error, OSError):
        is_output = error.filename is None and error.errno in _OF_OUTPUT
        place = "standard output: " if is_output else f"{error.filename}: " * bool(error.filename)
        complain(f"{place}{reason_of(error)}")
    else:
        import traceback

        traceback.print_exception(error)
        complain("this is a fault of namecheck; please report it")


def _other_distribution() -> str:
    """What to do about another distribution with modules in our package; empty if there is none."""
    from importlib import metadata

    from namecheck.cli.main import OTHER_DISTRIBUTION

    try:
        files = metadata.distribution("namecheck").files or ()
    except metadata.PackageNotFoundError:
        return ""
    return OTHER_DISTRIBUTION if "namecheck/cli.py" in map(str, files) else ""


def _release(stream: TextIO | None) -> None:
    """Drop what a stream cannot write, as Python would fail once more at its exit."""
    if stream is not None:
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def fill_closed_streams() -> None:
    """Put the null device where standard streams are closed; raises `Usage` without an output.

    Else the next files that are opened would be the standard streams, a cache among them.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if sys.stdout is None:
        raise Usage("standard output is closed")
