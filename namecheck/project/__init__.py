"""The files of a run with their settings, and the result of the whole run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.findings import Finding, Kind, register
from namecheck.core.stamps import stamp_of
from namecheck.project import settings as configuration
from namecheck.project.files import NOTHING, ProjectFiles, Reads
from namecheck.project.gathering import Gathering, is_excluded
from namecheck.project.reach import leading, scan
from namecheck.project.removed_api import reported
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry, Outcome, Task, reason_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from namecheck.interpreter.workspace.analysis import Statistics
    from namecheck.project.cache import Cache
    from namecheck.project.shards import Shard

__all__ = ["Entry", "Result", "Walk", "check", "check_text", "is_excluded", "tasks_of"]

FOLLOWED_TREE: Final = 400_000
"""Up to this many bytes of Python, files without names are analysed if they import named ones."""

LARGE_TREE: Final = 20_000_000
"""From this many bytes of Python on (about 450,000 lines), files without names are not parsed."""


@dataclass(frozen=True)
class Result:
    """The result of a run; `unparsed` files name no dimension, and were not parsed."""

    findings: tuple[Finding, ...]
    files: int
    unparsed: int
    statistics: Statistics | None = None

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


class Walk:
    """The files under some paths, each with the settings of its nearest pyproject.toml.

    `adjust` overrides the settings of a file by the command line's options. Raises `SettingsError`.
    Paths that do not exist are collected in `missing`.
    """

    def __init__(self, adjust: Callable[[Settings], Settings] = lambda settings: settings) -> None:
        self._adjust = adjust
        self._directories: set[tuple[int, int]] = set()
        self._files: set[str] = set()
        self.missing: list[str] = []

    def entries(self, paths: Sequence[str]) -> list[Entry]:
        """The files to check, in the order of a walk from the root, whatever the order of paths.

        Files that are paths themselves keep the spelling of the path, the shortest of several.
        """
        entries: list[Entry] = []
        for path in sorted(set(paths), key=_precedence) if len(paths) > 1 else paths:
            self._path(path, entries)
        if len(paths) > 1:
            entries.sort(key=lambda entry: entry.location.split(os.sep))
        return entries

    def _path(self, path: str, entries: list[Entry]) -> None:
        whole = os.path.abspath(path)
        if os.path.isdir(path):
            self._directory(path, whole, self._adjust(configuration.above(path)), entries)
        elif not os.path.lexists(path):
            self.missing.append(path)
        else:
            settings = self._adjust(configuration.above(os.path.dirname(path) or "."))
            self._file(path, whole, settings, entries, explicit=True)

    def _file(
        self,
        path: str,
        whole: str,
        settings: Settings,
        entries: list[Entry],
        *,
        explicit: bool = False,
    ) -> None:
        if whole in self._files:
            return
        self._files.add(whole)
        try:
            status = os.stat(path)
        except OSError as error:
            entry = Entry(path, whole, settings, explicit=explicit, refusal=reason_of(error))
        else:
            entry = Entry(path, whole, settings, status.st_size, explicit, stamp=stamp_of(status))
        entries.append(entry)

    def _directory(self, path: str, whole: str, settings: Settings, entries: list[Entry]) -> None:
        try:
            status = os.stat(path)
            if (status.st_dev, status.st_ino) in self._directories:
                return
            self._directories.add((status.st_dev, status.st_ino))
            with os.scandir(path) as listing:
                children = sorted(listing, key=lambda child: child.name)
        except OSError as error:
            entries.append(Entry(path, whole, settings, refusal=reason_of(error)))
            return
        if any(child.name == "pyproject.toml" for child in children):
            nearer = configuration.of_directory(path)
            torch = configuration.torch_of_directory(path) if nearer is None else ""
            settings = (
                settings.over(torch=torch or None) if nearer is None else self._adjust(nearer)
            )
        below = "" if path == "." else os.path.join(path, "")
        wholly = os.path.join(whole, "")
        for child in children:
            name = child.name
            if os.path.isdir(child.path) if child.is_symlink() else child.is_dir():
                if not settings.excludes(below + name):
                    self._directory(below + name, wholly + name, settings, entries)
            elif _may_be_source(child) and settings.takes(below + name):
                self._file(below + name, wholly + name, settings, entries)


def _precedence(path: str) -> tuple[bool, list[str], int, str]:
    """Files come before directories, and outer directories before inner ones."""
    return os.path.isdir(path), os.path.abspath(path).split(os.sep), len(path), path


def _may_be_source(child: os.DirEntry[str]) -> bool:
    """Whether it is a regular file or any link: a broken link is reported when it is read."""
    return child.is_symlink() or child.is_file()


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
) -> Result:
    """Check all files; `progress` is called with the number of checked files and of all files.

    `jobs` is the number of processes, by default one for each processor. Files with an outcome in
    the `cache` are not checked again. An `overlay`, contents of files by location that replace
    those on the disk, excludes a cache. With `counting` the tensor expressions are counted. The
    files that are read are added to `reads`. With a `shard` only its files are checked, and its
    part of the findings is reported. An `executor` replaces the processes; its workers need no disk
    of this machine. Raises `namecheck.project.cluster.ClusterError`.
    """
    files = ProjectFiles(overlay, reads)
    tasks = tasks_of(entries, files)

    def checked(subset: Sequence[Task]) -> list[Outcome]:
        remembered: Sequence[Outcome | None] = (
            [None] * len(subset) if cache is None else cache.get(subset)
        )
        stale = [task for task, outcome in zip(subset, remembered, strict=True) if outcome is None]
        report_progress = progress or (lambda done, total: None)
        fresh = iter(_made(stale, report_progress, jobs, cache, counting, overlay, reads, executor))
        return [next(fresh) if outcome is None else outcome for outcome in remembered]

    if shard is not None:
        return _part(entries, tasks, shard, counting, files, checked)
    outcomes = checked(tasks)
    gathering = Gathering(entries, outcomes)
    statistics = gathering.statistics() if counting else None
    findings = reported(gathering.findings(), entries, files.read)
    return Result(findings, len(outcomes), _unparsed(outcomes), statistics)


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
) -> Sequence[Outcome]:
    """The outcomes of files that are checked anew; they are added to the cache."""
    if not tasks:
        return ()
    from namecheck.project import workers  # with the interpreter, which is slow to import

    if executor is None or overlay or reads is not None:
        outcomes = workers.spread(tasks, progress, jobs, counting, overlay, reads)
    else:
        from namecheck.project import remote

        outcomes = remote.spread(tasks, progress, executor, jobs, counting)
    if cache is not None:
        cache.put(list(zip(tasks, outcomes, strict=True)))
    return outcomes


def tasks_of(entries: Sequence[Entry], files: ProjectFiles) -> list[Task]:
    """The tasks of a run, one a file."""
    walked = sum(entry.size for entry in entries if not entry.explicit)
    scans = {
        entry.location: scan(entry.location, files.read(entry.location), files)
        for entry in entries
        if entry.explicit or walked < FOLLOWED_TREE
    }
    leaders = scans.keys() & leading(dict(scans), files)
    return [Task(entry, _parses(entry, walked), entry.location in leaders) for entry in entries]


def check_text(data: bytes, filename: str, settings: Settings) -> Result:
    """Check contents that did not come from a file."""
    from namecheck.project.file_check import Checker

    entry = Entry(filename, os.path.abspath(filename), settings)
    files = ProjectFiles()
    scans = {entry.location: scan(entry.location, data, files)}
    leads = entry.location in leading(scans, files)
    outcome = Checker().text(data, entry.location, settings, True, leads)
    findings = Gathering([entry], [outcome]).findings()
    return Result(reported(findings, [entry], lambda location: data), 1, 0)


def _parses(entry: Entry, walked: int) -> bool:
    if entry.settings.syntax == "auto":
        return entry.explicit or walked < LARGE_TREE
    return entry.settings.syntax == "all"
