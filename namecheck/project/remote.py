"""The files of a run, checked by an executor whose workers may be on other machines.

A group of files that fails, because workers died over it, is tried again in halves; what still
fails is checked here, each file that kills its process by itself. So are the files that are left
when the executor is gone.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import cache
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.regular_files import reason_of
from namecheck.project import records, units, workers
from namecheck.project.cluster import Cluster, ClusterError
from namecheck.project.disk import OWN
from namecheck.project.file_check import Checker, is_silent
from namecheck.project.tasks import Outcome, Task
from namecheck.project.workers import Progress

_ATTEMPTS: Final = 3
# How often a unit is sent again with files and folders that its analysis has asked for.
_SUPPLEMENTS: Final = 10
# Units that are under way for each worker: one is being checked, the next is on its way.
_AHEAD: Final = 2
_GROUPS_EACH: Final = 4
# Seconds between two looks at a cluster whose workers are silent.
_PULSE: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Unit:
    """Some tasks by their numbers, with locations that their analysis has asked for."""

    numbers: tuple[int, ...]
    further: frozenset[str] = frozenset()
    attempts: int = 0
    supplements: int = 0

    def halves(self) -> tuple[_Unit, ...]:
        """The unit for another attempt, in halves if it has several tasks."""
        middle = len(self.numbers) // 2
        parts = (self.numbers[:middle], self.numbers[middle:])
        return tuple(_Unit(part, self.further, self.attempts + 1) for part in parts if part)


def spread(
    tasks: Sequence[Task],
    progress: Progress,
    executor: Executor,
    jobs: int | None = None,
    counting: bool = False,
) -> list[Outcome]:
    """The outcome of every task, in their order; raises `ClusterError` for a worker that is unfit.

    `jobs` is the number of workers, by default what the executor says.
    """
    return _Spreading(tasks, progress, executor, counting).outcomes(jobs or _workers_of(executor))


def _workers_of(executor: Executor) -> int:
    if isinstance(executor, Cluster):
        return max(executor.workers, 1)
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


class _Spreading:
    """One run over an executor."""

    def __init__(
        self, tasks: Sequence[Task], progress: Progress, executor: Executor, counting: bool
    ) -> None:
        self._tasks = tasks
        self._progress = progress
        self._executor = executor
        self._counting = counting
        self._packer = units.Packer(counting)
        self._extents = cache(lambda location: records.line_lengths(self._packer.read(location)))
        self._outcomes: dict[int, Outcome] = {}
        self._under_way: dict[Future[bytes], _Unit] = {}

    def outcomes(self, worker_count: int) -> list[Outcome]:
        """The outcome of every task."""
        pending = [
            number for number, task in enumerate(self._tasks) if not self._is_done(number, task)
        ]
        self._progress(len(self._outcomes), len(self._tasks))
        queue = deque(self._grouped(pending, worker_count))
        try:
            while queue or self._under_way:
                if not self._submit(queue, _AHEAD * worker_count):
                    break
                finished, _ = wait(self._under_way, _PULSE, FIRST_COMPLETED)
                if not finished and self._is_gone():
                    break
                for future in finished:
                    queue.extendleft(self._taken(future, self._under_way.pop(future)))
        finally:
            # Nothing is under way but after an interruption, an error, or where workers are gone.
            for future in self._under_way:
                future.cancel()
        self._finish()
        return [self._outcomes[number] for number in range(len(self._tasks))]

    def _is_done(self, number: int, task: Task) -> bool:
        """Whether a task needs no analysis: most files of a large tree name no dimension."""
        try:
            data = OWN.contents(task.entry.location)  # the packer would keep it
        except OSError as error:
            entry = task.entry._replace(refusal=task.entry.refusal or reason_of(error))
            self._outcomes[number] = Checker().file(*task._replace(entry=entry))
            return True
        if task.entry.refusal is None and is_silent(data, *task[1:], task.entry.settings):
            self._outcomes[number] = Outcome(parsed=False)
            return True
        return False

    def _grouped(self, numbers: Sequence[int], worker_count: int) -> list[_Unit]:
        groups = workers.grouped(
            [self._tasks[number] for number in numbers], worker_count, _GROUPS_EACH
        )
        remaining = iter(numbers)
        return [_Unit(tuple(next(remaining) for _ in group)) for group in groups if group]

    def _submit(self, queue: deque[_Unit], limit: int) -> bool:
        """Send units as long as few are under way; False where the executor takes none."""
        while queue and len(self._under_way) < limit:
            unit = queue.popleft()
            tasks = [self._tasks[number] for number in unit.numbers]
            data = self._packer.packed(tasks, unit.further)
            try:
                self._under_way[self._executor.submit(units.checked, data)] = unit
            except Exception:  # an executor may raise anything where it is broken or shut down
                self._is_gone()
                return False
        return True

    def _is_gone(self) -> bool:
        if isinstance(self._executor, Cluster) and not self._executor.workers:
            self._executor.lost = True
        return isinstance(self._executor, Cluster) and self._executor.lost

    def _taken(self, future: Future[bytes], unit: _Unit) -> tuple[_Unit, ...]:
        """Take the outcomes of a unit; returns the units that it must be sent as again."""
        tasks = [self._tasks[number] for number in unit.numbers]
        try:
            outcomes = units.outcomes_of(future.result(), tasks, self._extents)
        except units.Mismatch as error:
            raise ClusterError(
                "a worker has another version of namecheck, or of Python, than this process"
            ) from error
        except ModuleNotFoundError as error:
            raise ClusterError(f"a worker cannot import namecheck: {error}") from error
        except units.Incomplete as error:
            if unit.supplements < _SUPPLEMENTS:
                further = unit.further | error.unsent
                return (_Unit(unit.numbers, further, unit.attempts, unit.supplements + 1),)
        except Exception:  # whatever went wrong on a worker, or on the way
            if unit.attempts + 1 < _ATTEMPTS:
                return unit.halves()
        else:
            for number, outcome in zip(unit.numbers, outcomes, strict=True):
                if outcome is not None:
                    self._outcomes[number] = outcome
            self._progress(len(self._outcomes), len(self._tasks))
        return ()

    def _finish(self) -> None:
        """Check here what no worker has checked."""
        numbers = [n for n in range(len(self._tasks)) if n not in self._outcomes]
        if not numbers:
            return
        done = len(self._outcomes)
        outcomes = workers.spread(
            [self._tasks[number] for number in numbers],
            lambda count, _: self._progress(done + count, len(self._tasks)),
            counting=self._counting,
            isolated=True,
        )
        self._outcomes.update(zip(numbers, outcomes, strict=True))
