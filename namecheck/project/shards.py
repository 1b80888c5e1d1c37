"""The shards of a run: each machine of several reports a part of the findings.

A shard has a stretch of the files of the run, which are in the order of the folders: neighbours
import each other, so less is analysed twice. A finding may be in another file than the one whose
analysis found it; it belongs to the shard of the analysed file. Which analysis that is among
several, and whether a comment suppresses it, depends on all files that lead there. So a shard also
checks those files of other shards that import a file with such a finding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.project.files import ProjectFiles
from namecheck.project.reach import depending
from namecheck.project.tasks import Entry, Task

_WORD: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")
# Finding and reading a file costs as much as checking this many bytes.
_EACH: Final = 1_000


@dataclass(frozen=True, slots=True)
class Shard:
    """The shard `number` of `count`, from 1."""

    number: int
    count: int

    @classmethod
    def of(cls, word: str) -> Shard:
        """Parse a shard such as ``2/3``; raises ValueError."""
        match = _WORD.fullmatch(word)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(f"a shard is I/N with I from 1 to N, such as 2/3, not {word!r}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def members(self, entries: Sequence[Entry]) -> frozenset[str]:
        """The locations of the files of this shard: those whose middle is in its stretch."""
        weights = [entry.size + _EACH for entry in entries]
        total = sum(weights)
        return frozenset(
            entry.location
            for entry, weight, end in zip(entries, weights, accumulate(weights), strict=True)
            if (2 * end - weight) * self.count // (2 * total) == self.number - 1
        )


def further(tasks: Iterable[Task], seeds: Collection[str], files: ProjectFiles) -> list[Task]:
    """The tasks of the files that may have findings in the files `seeds`: these and importers."""
    if not seeds:
        return []
    by_location = {task.entry.location: task for task in tasks}
    # An import of a module also runs the packages that the module is in.
    folders = tuple(
        os.path.join(os.path.dirname(location), "")
        for location in seeds
        if os.path.basename(location) == "__init__.py"
    )
    inner = {location for location in by_location if location.startswith(folders)}
    importers = depending(by_location, {*seeds, *inner}, files)
    return [task for location, task in by_location.items() if location in importers]
