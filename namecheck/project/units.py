"""Units of work for another machine, which need no disk of this one: files with all they import.

A unit and its reply are plain data: JSON, compressed. A unit has the contents of its files and of
the files that they import, the listings of the folders where modules are looked up, and the
settings. The other machine replies with outcomes, which are validated as those of a cache are; or
with the locations of further files and folders that it needs.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.semantics import Semantics
from namecheck.interpreter.workspace.analysis import Query, Uses
from namecheck.interpreter.workspace.statistics import Limit, Loss, Statistics
from namecheck.project import records
from namecheck.project.contents import engine
from namecheck.project.disk import Recorder, Snapshot
from namecheck.project.file_check import Checker
from namecheck.project.files import INIT, ROOT_MARKS, ProjectFiles
from namecheck.project.records import Extents
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry, Outcome, Task

# Bytes as text, one character a byte.
_BYTES: Final = "latin-1"
# An analysis raises the recursion limit of its process and restores it.
_ONE_AT_A_TIME: Final = threading.Lock()


class Mismatch(Exception):
    """A worker has another version of namecheck or of Python; results could differ."""


class Incomplete(Exception):
    """A unit without some of the files and folders that its analysis asked for."""

    def __init__(self, unsent: frozenset[str]) -> None:
        super().__init__(*sorted(unsent))
        self.unsent = unsent


@dataclass(frozen=True, slots=True)
class _Version:
    """The versions that must agree for equal results."""

    engine: str
    python: str

    @classmethod
    def own(cls) -> _Version:
        """The version of this process."""
        return cls(engine().hex(), f"{sys.version_info[0]}.{sys.version_info[1]}")


class Packer:
    """Makes units of tasks; the files of the project are read and searched for imports once."""

    def __init__(self, counting: bool) -> None:
        self._counting = counting
        self._disk = Recorder()
        self._files = ProjectFiles(disk=self._disk)
        self._imported: dict[str, frozenset[str]] = {}

    def read(self, location: str) -> bytes | None:
        """The contents of a file, None where it cannot be read."""
        try:
            return self._disk.contents(location)
        except OSError:
            return None

    def packed(self, tasks: Sequence[Task], further: Collection[str] = ()) -> bytes:
        """A unit, with some `further` files or folders that an analysis has asked for."""
        locations = self._closure([*(task.entry.location for task in tasks), *further])
        for folder in further:
            self._disk.listing(folder)
        settings = list({id(task.entry.settings): task.entry.settings for task in tasks}.values())
        numbers = {id(each): number for number, each in enumerate(settings)}
        return _compressed(
            {
                "version": [_Version.own().engine, _Version.own().python],
                "counting": self._counting,
                "folder": self._disk.working_folder,
                "settings": [_settings_record(each) for each in settings],
                "tasks": [_task_record(task, numbers[id(task.entry.settings)]) for task in tasks],
                "files": {one: _text_or_none(self._disk.files[one]) for one in locations},
                "folders": self._folders(locations, further),
            }
        )

    def _closure(self, locations: Iterable[str]) -> list[str]:
        """The files, and all that they import over any number of files."""
        pending, reached = list(locations), set[str]()
        while pending:
            location = pending.pop()
            if location not in reached:
                reached.add(location)
                pending += self._imports(location)
        return sorted(location for location in reached if location in self._disk.files)

    def _folders(self, locations: Iterable[str], further: Collection[str]) -> dict[str, list[str]]:
        """The listings that lookups of modules from these files need, and those of `further`."""
        above: set[str] = set()
        for location in locations:
            folder = os.path.dirname(location)
            while folder not in above:
                above.add(folder)
                folder = os.path.dirname(folder)
        return {
            folder: sorted(filter(_may_count, names))
            for folder, names in self._disk.folders.items()
            if folder in further or folder in above or os.path.dirname(folder) in above
        }

    def _imports(self, location: str) -> frozenset[str]:
        if location not in self._imported:
            self._files.name(location)  # lists the folders of its packages
            data = self.read(location)
            imported = frozenset() if data is None else self._files.imported(location, data)
            self._imported[location] = imported | self._packages(location)
        return self._imported[location]

    def _packages(self, location: str) -> frozenset[str]:
        """The packages that a module is in; an import of the module runs them."""
        packages = set()
        folder = os.path.dirname(location)
        while INIT in self._disk.listing(folder):
            packages.add(os.path.join(folder, INIT))
            folder = os.path.dirname(folder)
        return frozenset(packages)


def _may_count(name: str) -> bool:
    """Whether a name in a folder may be a module or a package, or marks the root of a project."""
    return "." not in name or name.endswith(".py") or name in ROOT_MARKS


def checked(unit: bytes) -> bytes:
    """Check the files of a unit, on whichever machine; returns the reply."""
    record = _uncompressed(unit)
    if record["version"] != [_Version.own().engine, _Version.own().python]:
        return _compressed({"mismatch": True})
    disk = Snapshot(
        record["folder"],
        {
            one: None if text is None else text.encode(_BYTES)
            for one, text in record["files"].items()
        },
        {folder: frozenset(names) for folder, names in record["folders"].items()},
    )
    settings = [_settings_of(each) for each in record["settings"]]
    with _ONE_AT_A_TIME:
        checker = Checker(record["counting"], disk=disk)
        outcomes = [
            _outcome_record(location, checker.file(*_task_of(location, settings[number], modes)))
            for location, number, *modes in record["tasks"]
        ]
    if disk.unsent:
        return _compressed({"unsent": sorted(disk.unsent)})
    return _compressed({"outcomes": outcomes})


def outcomes_of(reply: bytes, tasks: Sequence[Task], extents: Extents) -> list[Outcome | None]:
    """The outcomes of tasks in a reply, None for an invalid one.

    Raises `Mismatch`, `Incomplete`, or any error of a record for a reply that is none.
    """
    record = _uncompressed(reply)
    if "mismatch" in record:
        raise Mismatch
    if "unsent" in record:
        raise Incomplete(frozenset(map(str, record["unsent"])))
    pairs = zip(tasks, record["outcomes"], strict=True)
    return [_outcome_of(task.entry.location, one, extents) for task, one in pairs]


def _compressed(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def _uncompressed(data: bytes) -> Any:
    return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))


def _text_or_none(data: bytes | None) -> str | None:
    return None if data is None else data.decode(_BYTES)


# Tasks and settings


def _task_record(task: Task, settings_number: int) -> list[Any]:
    entry = task.entry
    modes = entry.explicit, entry.refusal, task.parses, task.leads
    return [entry.location, settings_number, *modes]


def _task_of(location: str, settings: Settings, modes: Sequence[Any]) -> Task:
    explicit, refusal, parses, leads = modes
    return Task(Entry(location, location, settings, 0, explicit, refusal), parses, leads)


def _settings_record(settings: Settings) -> list[Any]:
    """The settings that an outcome depends on."""
    tables = settings.operator_tables()
    return [
        settings.semantics.value,
        settings.attributes,
        settings.evidence,
        settings.torch,
        tables,
    ]


def _settings_of(record: list[Any]) -> Settings:
    semantics, attributes, evidence, torch, tables = record
    return Settings(
        semantics=Semantics(semantics),
        attributes=attributes,
        evidence=evidence,
        torch=torch,
        extend_operators=tuple(file for file, _ in tables),
        tables=tuple((file, text) for file, text in tables),
    )


# Outcomes


def _outcome_record(location: str, outcome: Outcome) -> list[Any]:
    locations = sorted({location, *records.named_in(outcome)})
    uses, statistics = outcome.uses, outcome.statistics
    return [
        locations,
        records.outcome_text(outcome, locations),
        None
        if uses is None
        else [sorted(uses.modules), [[*query, result] for query, result in uses.found.items()]],
        None
        if statistics is None
        else [
            statistics.full,
            statistics.part,
            statistics.none,
            [
                [word, loss.times, loss.filename, loss.line]
                for word, loss in statistics.losses.items()
            ],
            [
                [limit.filename, limit.line, limit.function, limit.what, times]
                for limit, times in statistics.limits.items()
            ],
        ],
    ]


def _outcome_of(location: str, record: list[Any], extents: Extents) -> Outcome | None:
    locations, text, uses, counts = record
    try:
        outcome = records.outcome_of(text, location, [str(one) for one in locations], extents)
    except records.INVALID:
        return None
    statistics = None
    if counts is not None:
        full, part, none, losses, limits = counts
        statistics = Statistics(
            full,
            part,
            none,
            {word: Loss(*loss) for word, *loss in losses},
            {Limit(*limit): times for *limit, times in limits},
        )
    return Outcome(
        outcome.findings,
        outcome.parsed,
        outcome.comments,
        None
        if uses is None
        else Uses(set(uses[0]), {Query(*query): result for *query, result in uses[1]}),
        statistics,
    )
