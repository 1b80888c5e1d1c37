"""The outcomes of a survey: one line of JSON for each package, appended as it is checked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final

FINISHED: Final = "finished"
NO_ARCHIVE: Final = "no archive"
BAD_ARCHIVE: Final = "bad archive"
OUT_OF_TIME: Final = "processor time"
OUT_OF_CLOCK: Final = "wall-clock time"
OUT_OF_MEMORY: Final = "memory"
DIED: Final = "died"
"""Why a check ended."""

UNCHECKED: Final = (NO_ARCHIVE, BAD_ARCHIVE)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One finding as it is recorded; `file` is relative to the folder of the package."""

    file: str
    line: int
    column: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The check of one package.

    `end` is why it ended, `code` its exit code, `lines` the lines of its files that import torch,
    `seconds` its processor time and `mebibytes` the peak of its memory. `faults` are internal
    errors; `unjudged` lists the files and members of the archive that were not judged, and why.
    `statistics` is what ``check --statistics`` reports, if that is an option of the survey, and
    `commit` the state of namecheck.
    """

    package: str
    end: str
    version: str = ""
    commit: str = ""
    reason: str = ""
    files: int = 0
    torch_files: int = 0
    lines: int = 0
    seconds: float = 0.0
    wall_seconds: float = 0.0
    mebibytes: float = 0.0
    code: int = 0
    findings: tuple[Place, ...] = ()
    faults: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    statistics: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether namecheck failed: an internal fault, or a limit."""
        return bool(self.faults) or self.end not in (FINISHED, *UNCHECKED)

    @property
    def rate(self) -> float:
        """Lines of files that import torch for each second of processor time."""
        return self.lines / self.seconds if self.seconds else 0.0


def read(path: Path) -> dict[str, Outcome]:
    """The outcomes in a file by package; what was cut off while it was written is ignored."""
    if not path.exists():
        return {}
    return {outcome.package: outcome for outcome in _lines(path)}


def _lines(path: Path) -> Iterator[Outcome]:
    for line in path.read_bytes().split(b"\n"):
        try:
            fields = json.loads(line)
            yield Outcome(**{**fields, **_tuples(fields)})
        except (ValueError, TypeError, KeyError):
            continue


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "findings": tuple(Place(**finding) for finding in fields["findings"]),
        "faults": tuple(fields["faults"]),
        "unjudged": tuple(fields["unjudged"]),
    }


class Journal:
    """The file of outcomes, open for further ones; each is on the disk before the next begins."""

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] = path.open("a+b")
        # A line that was cut off must not swallow the next one.
        if self._file.tell() and not _ends_line(self._file):
            self._file.write(b"\n")

    def append(self, outcome: Outcome) -> None:
        """Write one outcome."""
        self._file.write(json.dumps(asdict(outcome)).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _ends_line(file: IO[bytes]) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
