"""The files of a run with their settings, and the result of the whole run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.findings import Finding, Kind, register
from namecheck.project.files import NOTHING, ProjectFiles, Reads
from namecheck.project.gathering import Gathering, is_excluded
from namecheck.project.reach import leading, scan
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry, Outcome, Task
from namecheck.project.walk import Walk
from namecheck.project.whole_run import reported

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from namecheck.interpreter.workspace.analysis import Purse
    from namecheck.interpreter.workspace.inspection import Inspection
    from namecheck.interpreter.workspace.statistics import Statistics
    from namecheck.project.cache import Cache
    from namecheck.project.shards import Shard

__all__ = [
    "Entry",
    "Result",
    "Walk",
    "check",
    "check_changed",
    "check_text",
    "is_excluded",
    "tasks_of",
]

FOLLOWED_TREE: Final = 400_000
"""Up to this many bytes of Python, files without names are analysed if they import named ones."""

LARGE_TREE: Final = 20_000_000
"""From this many bytes of Python on (about 450,000 lines), files without names are not parsed."""


@dataclass(frozen=True)
class Result:
    """The result of a run; `unparsed` files name no dimension, and were not parsed.

    `inspections` are those of the analysed files, by their locations, where they were requested.
    `costs` are the steps that the analyses of files took, by their locations.
    """

    findings: tuple[Finding, ...]
    files: int
    unparsed: int
    statistics: Statistics | None = None
    inspections: Mapping[str, Inspection] = field(default_factory=dict)
    costs: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def steps(self) -> int:
        """What the analyses of this run took, without those whose outcomes come from a cache."""
        return sum(self.costs.values())

    @property
    def faults(self) -> int:
        """The number of files on which namecheck itself failed."""
        return sum(finding.code == "NC005" for finding in self.findings)

    @property
    def errors(self) -> int:
        """The number of findings that are more than notes."""
        return sum(register()[finding.code].kind is not Kind.NOTE for finding in self.findings)

    def replaced(self, findings: tuple[Finding, ...]) -> Result:
        """The run with its findings replaced."""
        return replace(self, findings=findings)

    def joined(self, addition: Result) -> Result:
        """The two runs as one."""
        return Result(
            self.findings + addition.findings,
            self.files + addition.files,
            self.unparsed + addition.unparsed,
        )


def check(
    entries: Sequence[Entry],
    progress: Callable[[int, int], None] | None = None,
    jobs: int | None = None,
    cache: Cache | None = None,
    counting: bool = False,
    overlay: Mapping[str, bytes] = NOTHING,
    reads: Reads | None = None,
    shard: Shard | None = None,
    executor: Executor | None = None,
    inspecting: bool = False,
) -> Result:
    """Check all files; `progress` is called with the number of checked files and of all files.

    `jobs` is the number of processes, by default one for each processor. Files with an outcome in
    the `cache` are not checked again. An `overlay`, contents of files by location that replace
    those on the disk, excludes a cache. With `counting` the tensor expressions are counted, with
    `inspecting` they are listed. The files that are read are added to `reads`. With a `shard` only
    its files are checked, and its part of the findings is reported. An `executor` replaces the
    processes; its workers need no disk of this machine, and list no expressions. Raises
    `namecheck.project.cluster.ClusterError`.
    """
    files = ProjectFiles(overlay, reads)
    tasks = tasks_of(entries, files)

    def checked(subset: Sequence[Task]) -> list[Outcome]:
        remembered: Sequence[Outcome | None] = (
            [None] * len(subset) if cache is None else cache.get(subset)
        )
        stale = [task for task, outcome in zip(subset, remembered, strict=True) if outcome is None]
        report_progress = progress or (lambda done, total: None)
        made = _made(
            stale, report_progress, jobs, cache, counting, overlay, reads, executor, inspecting
        )
        fresh = iter(made)
        return [next(fresh) if outcome is None else outcome for outcome in remembered]

    if shard is not None:
        return _part(entries, tasks, shard, counting, files, checked)
    outcomes = checked(tasks)
    gathering = Gathering(entries, outcomes)
    statistics = gathering.statistics() if counting or inspecting else None
    findings = reported(gathering.findings(), entries, files.read)
    inspections = {
        entry.location: outcome.inspection
        for entry, outcome in zip(entries, outcomes, strict=True)
        if outcome.inspection is not None
    }
    costs = {
        entry.location: outcome.uses.steps
        for entry, outcome in zip(entries, outcomes, strict=True)
        if outcome.uses is not None
    }
    return Result(findings, len(outcomes), _unparsed(outcomes), statistics, inspections, costs)


def _part(
    entries: Sequence[Entry],
    tasks: Sequence[Task],
    shard: Shard,
    counting: bool,
    files: ProjectFiles,
    checked: Callable[[Sequence[Task]], list[Outcome]],
) -> Result:
    """The result of one shard of a run."""
    from namecheck.project.shards import further

    members = shard.members(entries)
    own = [task for task in tasks if task.entry.location in members]
    outcomes = dict(zip((task.entry.location for task in own), checked(own), strict=True))

    def gathered() -> Gathering:
        return Gathering(entries, [outcomes.get(one.location, Outcome()) for one in entries])

    gathering = gathered()
    statistics = gathering.statistics() if counting else None
    unparsed = _unparsed([*outcomes.values()])
    others = [task for task in tasks if task.entry.location not in members]
    if more := further(others, gathering.shared(), files):
        outcomes.update(zip((task.entry.location for task in more), checked(more), strict=True))
        gathering = gathered()
    findings = reported(gathering.findings(members), entries, files.read)
    return Result(findings, len(own), unparsed, statistics)


def _unparsed(outcomes: Sequence[Outcome]) -> int:
    return sum(not outcome.parsed for outcome in outcomes)


def _made(
    tasks: Sequence[Task],
    progress: Callable[[int, int], None],
    jobs: int | None,
    cache: Cache | None,
    counting: bool,
    overlay: Mapping[str, bytes],
    reads: Reads | None,
    executor: Executor | None,
    inspecting: bool,
) -> Sequence[Outcome]:
    """The outcomes of files that are checked anew; they are added to the cache."""
    if not tasks:
        return ()
    from namecheck.project import workers  # with the interpreter, which is slow to import

    if executor is None or overlay or reads is not None:
        outcomes = workers.spread(
            tasks, progress, jobs, counting, overlay, reads, inspecting=inspecting
        )
    else:
        from namecheck.project import remote

        outcomes = remote.spread(tasks, progress, executor, jobs, counting)
    if cache is not None:
        cache.store(list(zip(tasks, outcomes, strict=True)))
    return outcomes


def tasks_of(entries: Sequence[Entry], files: ProjectFiles) -> list[Task]:
    """The tasks of a run, one a file."""
    walked = sum(entry.size for entry in entries if not entry.explicit)
    scans = {
        entry.location: scan(
            entry.location, files.read(entry.location), files, entry.settings.names_dims
        )
        for entry in entries
        if entry.explicit or walked < FOLLOWED_TREE
    }
    leaders = scans.keys() & leading(dict(scans), files)
    return [Task(entry, _parses(entry, walked), entry.location in leaders) for entry in entries]


def check_changed(entry: Entry, overlay: Mapping[str, bytes], purse: Purse) -> tuple[Finding, ...]:
    """The findings of one file, with the contents that files, by location, would have.

    What it costs is taken from the `purse`, and no more than that has left.
    """
    from namecheck.project.file_check import Checker

    files = ProjectFiles(overlay)
    (task,) = tasks_of([entry], files)
    outcome = Checker(overlay=overlay, purse=purse).file(entry, task.parses, task.leads)
    return reported(Gathering([entry], [outcome]).findings(), [entry], files.read)


def check_text(data: bytes, filename: str, settings: Settings) -> Result:
    """Check contents that did not come from a file."""
    from namecheck.project.file_check import Checker

    entry = Entry(filename, os.path.abspath(filename), settings)
    files = ProjectFiles()
    scans = {entry.location: scan(entry.location, data, files, settings.names_dims)}
    leads = entry.location in leading(scans, files)
    outcome = Checker().text(data, entry.location, settings, True, leads)
    findings = Gathering([entry], [outcome]).findings()
    return Result(reported(findings, [entry], lambda location: data), 1, 0)


def _parses(entry: Entry, walked: int) -> bool:
    if entry.settings.syntax == "auto":
        return entry.explicit or walked < LARGE_TREE
    return entry.settings.syntax == "all"
