"""Checks the files of a run, in one process or, if that is faster, on all processors.

When a worker process dies, its files are checked again in ever smaller groups, each in a new
process, until the file that kills it is alone and becomes a finding NC005.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from namecheck.project import file_check
from namecheck.project.disk import OWN
from namecheck.project.file_check import Checker
from namecheck.project.files import NOTHING, Reads
from namecheck.project.tasks import Outcome, Task

# A run in one process does without these: they load half of the standard library.
if TYPE_CHECKING:
    from concurrent.futures import Future

Progress: TypeAlias = Callable[[int, int], None]

WORTH_IT: Final = 100_000
"""From this many bytes of Python on, a second process gains more than it costs."""

_SCANNED_HERE: Final = 200_000_000
"""Up to this many bytes of Python, one process finds sooner than several what is to be analysed."""

_GROUP: Final = 400_000
_GROUPS_EACH: Final = 3


def spread(
    tasks: Sequence[Task],
    progress: Progress,
    jobs: int | None = None,
    counting: bool = False,
    overlay: Mapping[str, bytes] = NOTHING,
    reads: Reads | None = None,
    isolated: bool = False,
    inspecting: bool = False,
) -> list[Outcome]:
    """The outcome of every task, in their order.

    With `counting` their expressions are counted, with `inspecting` they are listed as well.

    An `overlay`, contents of files that replace those on the disk, or the collection of the read
    files in `reads`, requires a single process. Where the files are `isolated`, none is checked in
    this process, as it may kill it.
    """
    processes = jobs or processors()
    alone = processes < 2 or bool(overlay) or reads is not None
    if not isolated and (alone or _size(tasks) < WORTH_IT):
        checker = Checker(counting, overlay, reads, inspecting=inspecting)
        return _one_by_one(tasks, progress, checker)
    scans = _size(tasks) < _SCANNED_HERE
    silent = [scans and _is_silent(task) for task in tasks]
    rest = [task for task, passed_over in zip(tasks, silent, strict=True) if not passed_over]
    if isolated or _size(rest) >= WORTH_IT:
        outcomes = _in_parallel(rest, progress, processes, counting, inspecting)
    else:
        outcomes = _one_by_one(rest, progress, Checker(counting, inspecting=inspecting))
    checked = iter(outcomes)
    return [Outcome(parsed=False) if passed_over else next(checked) for passed_over in silent]


def _size(tasks: Iterable[Task]) -> int:
    """The bytes of Python in some files."""
    return sum(task.entry.size for task in tasks)


def _is_silent(task: Task) -> bool:
    """Whether a file need not be sent to a worker, as it has nothing to be checked."""
    if task.parses or task.leads or task.entry.refusal is not None:
        return False
    try:
        data = OWN.contents(task.entry.location)
    except OSError:
        return False
    return file_check.is_silent(data, task.parses, task.leads, task.entry.settings)


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _one_by_one(tasks: Sequence[Task], progress: Progress, checker: Checker) -> list[Outcome]:
    outcomes = []
    for task in tasks:
        outcomes.append(checker.file(*task))
        progress(len(outcomes), len(tasks))
    return outcomes


def _in_parallel(
    tasks: Sequence[Task],
    progress: Progress,
    processors: int,
    counting: bool,
    inspecting: bool,
) -> list[Outcome]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    # Processes that are forked have it from this one.
    import namecheck.interpreter.workspace.analysis  # noqa: F401

    groups = grouped(tasks, processors, _GROUPS_EACH)
    outcomes_by_group: dict[int, list[Outcome]] = {}
    done = 0
    with ProcessPoolExecutor(processors, initializer=_ignore_interrupts) as pool:
        futures: dict[Future[list[Outcome]], int] = {}
        try:
            futures = {
                pool.submit(_check, group, counting, inspecting): number
                for number, group in enumerate(groups)
            }
            for future in as_completed(futures):
                number = futures[future]
                try:
                    outcomes_by_group[number] = future.result()
                except BrokenProcessPool:
                    continue
                done += len(groups[number])
                progress(done, len(tasks))
        except BrokenProcessPool:
            pass
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [
        outcome
        for number, group in enumerate(groups)
        for outcome in outcomes_by_group.get(number) or _alone(group, counting, inspecting)
    ]


def _ignore_interrupts() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def grouped(tasks: Sequence[Task], processors: int, groups_each: int) -> list[list[Task]]:
    """Groups of tasks, a few for each processor, and none too large."""
    total = sum(task.entry.size + 1_000 for task in tasks)
    limit = min(_GROUP, total // (processors * groups_each))
    batches: list[list[Task]] = [[]]
    size = 0
    for task in tasks:
        if size > limit:
            batches.append([])
            size = 0
        batches[-1].append(task)
        size += task.entry.size + 1_000
    return batches


def _check(group: list[Task], counting: bool, inspecting: bool) -> list[Outcome]:
    checker = _checker(counting, inspecting)
    return [checker.file(*task) for task in group]


@cache
def _checker(counting: bool, inspecting: bool) -> Checker:
    """The checker that a process keeps for all its groups, with the files that it has read."""
    return Checker(counting, inspecting=inspecting)


def _alone(group: list[Task], counting: bool, inspecting: bool) -> list[Outcome]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    try:
        with ProcessPoolExecutor(1, initializer=_ignore_interrupts) as pool:
            return pool.submit(_check, group, counting, inspecting).result()
    except BrokenProcessPool:
        if len(group) > 1:
            half = len(group) // 2
            halves = group[:half], group[half:]
            return [one for part in halves for one in _alone(part, counting, inspecting)]
    fault = file_check.fault(group[0].entry.location, "the process that checked it died")
    return [Outcome((fault,))]
