"""Runs a script as ``python SCRIPT`` would, and tells how it ended."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """How a script ended: with an error, or with a status that it chose."""

    error: BaseException | None = None

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than by its last line or ``sys.exit(0)``."""
        if isinstance(self.error, SystemExit):
            return self.error.code not in (None, 0)
        return self.error is not None

    @property
    def told(self) -> str:
        """What it ended with, in one line."""
        if isinstance(self.error, SystemExit):
            return f"sys.exit({self.error.code!r})"
        first = str(self.error).partition("\n")[0]
        return f"{type(self.error).__name__}: {first}"


def run(path: str, arguments: Sequence[str]) -> Ended:
    """Run the file at an absolute path as the main program."""
    with _as_main(path, arguments):
        try:
            runpy.run_path(path, run_name="__main__")
        except (Exception, SystemExit) as error:
            return Ended(error)
    return Ended()


@contextmanager
def _as_main(path: str, arguments: Sequence[str]) -> Iterator[None]:
    argv, first = sys.argv, sys.path[0]
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(path)
    try:
        yield
    finally:
        sys.argv, sys.path[0] = argv, first
