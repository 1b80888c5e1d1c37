"""Runs a script as ``namecheck run`` does, and returns how it ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import spawn

from namecheck.core.dataclasses import dataclass
from namecheck.runtime.programs.script import Program


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a script: an error, or an exit status."""

    error: BaseException | None = None

    @property
    def failed(self) -> bool:
        """Whether it ended with an error or with a status other than 0."""
        if isinstance(self.error, SystemExit):
            return self.error.code not in (None, 0)
        return self.error is not None

    @property
    def reason(self) -> str:
        """The error or the status that it ended with, in one line."""
        if isinstance(self.error, SystemExit):
            return f"sys.exit({self.error.code!r})"
        first = str(self.error).partition("\n")[0]
        return f"{type(self.error).__name__}: {first}"


def run(program: Program) -> Ended:
    """Run a program, and restore the state of the process."""
    with _restored():
        try:
            program.run()
        except (Exception, SystemExit) as error:
            return Ended(error)
    return Ended()


@contextmanager
def _restored() -> Iterator[None]:
    """Restore the state of the process that a program may change."""
    argv, path, finders = sys.argv[:], sys.path[:], sys.meta_path[:]
    main, hook, prepare = sys.modules["__main__"], sys.excepthook, spawn.get_preparation_data
    try:
        yield
    finally:
        sys.argv[:], sys.path[:], sys.meta_path[:] = argv, path, finders
        sys.modules["__main__"], sys.excepthook = main, hook
        spawn.get_preparation_data = prepare
