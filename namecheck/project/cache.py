"""The outcomes of earlier runs in one SQLite file, each valid while its dependencies are unchanged.

An entry is the outcome of a file, or the fixes of its findings. It depends on namecheck itself, on
the settings, on the contents of all files that were read for it, and on where modules were found:
its `seal` is a digest of these, and an entry whose seal does not match is stale. An unusable cache
is ignored, with a note.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass, replace
from namecheck.project import records
from namecheck.project.contents import Contents, digest, engine
from namecheck.project.files import ProjectFiles, Reads
from namecheck.project.records import Fixes
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry, Outcome, Task

FOLDER: Final = ".namecheck_cache"
FILE: Final = "outcomes.sqlite"

_APPLICATION: Final = 0x6E63686B
_VERSION: Final = 1
_PATIENCE: Final = 0.5
_TABLES: Final = """
CREATE TABLE files (id INTEGER PRIMARY KEY, location TEXT UNIQUE, stamp TEXT, digest BLOB);
CREATE TABLE outcomes (
    location TEXT, context BLOB, engine BLOB, uses TEXT, found TEXT, outcome TEXT, seal BLOB,
    PRIMARY KEY (location, context)
);
"""


# Of the entries for the fixes of a file only the latest are kept.
_FORGET: Final = """
DELETE FROM outcomes WHERE location = ? AND substr(context, 1, 5) = ? AND rowid NOT IN (
    SELECT rowid FROM outcomes WHERE location = ? AND substr(context, 1, 5) = ?
    ORDER BY rowid DESC LIMIT ?
)
"""

# Errors from reading a record that another program may have written.
_BROKEN: Final = (KeyError, ValueError, TypeError, IndexError, AttributeError)


class Unusable(Exception):
    """An unusable cache; the message says why."""


@dataclass(frozen=True, slots=True)
class _Row:
    """An entry: the files it depends on, where modules were found, its text, and a seal."""

    uses: str
    lookups: str
    text: str
    seal: bytes


_Record: TypeAlias = tuple[str, bytes, list[str], str, str]
"""A new entry: its file and its key, the files that were read, where modules were found, and its
text."""

# How many sets of files the fixes of a file are kept for.
_FIXES: Final = b"fixes"
_RUNS: Final = 4


class Cache:
    """The outcomes of earlier runs in a folder; `notes` says why the cache could not be used."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.notes: list[str] = []
        self._ids: dict[int, str] = {}
        self._rows: dict[tuple[str, bytes], _Row] = {}
        self._contexts: dict[tuple[int, tuple[bool, bool]], bytes] = {}
        self._settings: dict[int, bytes] = {}
        self._runs: dict[int, bytes] = {}
        self._files = ProjectFiles()
        self._usable = True
        digests: dict[str, tuple[str, bytes]] = {}
        with self._noted():
            if os.path.exists(self._path):
                with self._connection() as connection:
                    digests = self._read(connection)
        self.contents = Contents(digests)

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, FILE)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Turn an error of the cache into a note, and stop using the cache."""
        try:
            yield
        except (sqlite3.Error, OSError, Unusable, ValueError, TypeError) as error:
            self._usable = False
            self._rows.clear()
            self.notes.append(f"the cache {self._path} is not used: {error}")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()

    # Reading

    def _read(self, connection: sqlite3.Connection) -> dict[str, tuple[str, bytes]]:
        _hold_own(connection)
        digests: dict[str, tuple[str, bytes]] = {}
        for number, location, stamp, file_digest in connection.execute("SELECT * FROM files"):
            self._ids[number] = location
            if stamp:
                digests[location] = stamp, file_digest
        select = "SELECT location, context, uses, found, outcome, seal FROM outcomes WHERE engine=?"
        for location, key, *columns in connection.execute(select, (engine(),)):
            self._rows[location, key] = _Row(*columns)
        return digests

    def get(self, tasks: Sequence[Task]) -> list[Outcome | None]:
        """The outcomes of files, None for each that must be checked."""
        for task in tasks:
            self.contents.set_stamp(task.entry.location, task.entry.stamp)
        return [self._get(task) for task in tasks]

    def _get(self, task: Task) -> Outcome | None:
        outcome = None
        if self._rows and task.entry.refusal is None:
            with suppress(*_BROKEN):
                stored_row = self._row(task.entry.location, self._context(task))
                outcome = None if stored_row is None else records.outcome_of(stored_row.text)
        if outcome is None:
            self.contents.digest(task.entry.location)
        return outcome

    def _row(self, location: str, entry_key: bytes) -> _Row | None:
        """An entry, if all that it depends on is unchanged; raises `_BROKEN`."""
        stored_row = self._rows.get((location, entry_key))
        if (
            stored_row is None
            or self._seal(self._uses(stored_row), stored_row.lookups, stored_row.text)
            != stored_row.seal
        ):
            return None
        lookups = records.lookups_of(stored_row.lookups)
        return (
            stored_row
            if all(self._files.find(*query) == result for query, result in lookups)
            else None
        )

    def _uses(self, stored_row: _Row) -> list[str]:
        return [self._ids[int(number)] for number in stored_row.uses.split()]

    def fixes(self, entries: Sequence[Entry], location: str) -> tuple[Fixes, Reads]:
        """The fixes of one of the files of a run, as far as known, and what they depend on."""
        with suppress(*_BROKEN):
            stored_row = self._row(location, self._run(entries))
            if stored_row is not None:
                lookups = dict(records.lookups_of(stored_row.lookups))
                return records.fixes_of(stored_row.text), Reads(
                    set(self._uses(stored_row)), lookups
                )
        return {}, Reads()

    def _run(self, entries: Sequence[Entry]) -> bytes:
        """The key of the fixes of a run: its files and their settings."""
        if id(entries) not in self._runs:
            parts = (
                part
                for entry in entries
                for part in (
                    entry.path.encode("utf-8", "replace"),
                    entry.location.encode("utf-8", "replace"),
                    repr((entry.explicit, entry.refusal)).encode("utf-8", "replace"),
                    self._chosen(entry.settings),
                )
            )
            self._runs[id(entries)] = _FIXES + digest(*parts)
        return self._runs[id(entries)]

    def _chosen(self, settings: Settings) -> bytes:
        """A digest of the settings, with those that filter findings."""
        key = self._settings.get(id(settings))
        if key is None:
            text = repr(replace(settings, output_format="", color="", cache_dir=None))
            key = digest(_settings(settings), text.encode("utf-8", "replace"))
            self._settings[id(settings)] = key
        return key

    def _context(self, task: Task) -> bytes:
        """The key of an outcome: the settings, and how the file is checked."""
        modes = task.parses, task.leads
        key = id(task.entry.settings), modes
        digested = self._contexts.get(key)
        if digested is None:
            digested = digest(_settings(task.entry.settings), repr(modes).encode())
            self._contexts[key] = digested
        return digested

    def _seal(self, uses: Sequence[str], lookups: str, outcome: str) -> bytes:
        """A digest of the files that an entry depends on, and of the entry itself."""
        contents = (part for use in uses for part in (use.encode(), self.contents.digest(use)))
        return digest(*contents, lookups.encode(), outcome.encode())

    # Writing

    def put(self, outcomes: Sequence[tuple[Task, Outcome]]) -> None:
        """Store outcomes, except those of files that have changed in the meantime."""
        self._keep(
            (
                task.entry.location,
                self._context(task),
                uses,
                records.lookups_text(outcome.uses.found.items() if outcome.uses else ()),
                records.outcome_text(outcome),
            )
            for task, outcome in outcomes
            if not any(finding.code in ("NC002", "NC005") for finding in outcome.findings)
            and (uses := self._settled(task.entry.location, _modules(outcome))) is not None
        )

    def put_fixes(
        self, entries: Sequence[Entry], fixes_by_file: Mapping[str, tuple[Fixes, Reads]]
    ) -> None:
        """Store the fixes of some files of a run, each with the files that were read for it."""
        key = self._run(entries)
        self._keep(
            (
                location,
                key,
                uses,
                records.lookups_text(reads.lookups.items()),
                records.fixes_text(fixes),
            )
            for location, (fixes, reads) in fixes_by_file.items()
            if (uses := self._settled(location, reads.locations)) is not None
        )

    def _keep(self, additions: Iterable[_Record]) -> None:
        if not self._usable or not (batch := list(additions)):
            return
        with self._noted():
            self._make_folder()
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                _hold_own(connection)
                self._write(connection, batch)
                connection.execute("COMMIT")

    def _settled(self, location: str, modules: set[str]) -> list[str] | None:
        """The files that an entry depends on; None if it must not be stored."""
        uses = sorted({location} | modules)
        unchanged = self.contents.is_settled(location)
        old = (self.contents.is_old(use) and self.contents.is_settled(use) for use in uses)
        return uses if (unchanged and all(old)) or (unchanged and uses == [location]) else None

    def _make_folder(self) -> None:
        os.makedirs(self.folder, exist_ok=True)
        ignored = os.path.join(self.folder, ".gitignore")
        if not os.path.exists(ignored):
            with open(ignored, "w", encoding="utf-8") as file:
                file.write("*\n")

    def _write(self, connection: sqlite3.Connection, batch: Sequence[_Record]) -> None:
        connection.execute("DELETE FROM outcomes WHERE engine != ?", (engine(),))
        used = {use: None for _, _, uses, _, _ in batch for use in uses}
        insert = "INSERT OR IGNORE INTO files (location) VALUES (?)"
        connection.executemany(insert, [(use,) for use in used])
        connection.executemany(
            "UPDATE files SET stamp=?, digest=? WHERE location=?",
            [
                (stamp, file_digest, location)
                for location, stamp, file_digest in self.contents.stamps()
            ],
        )
        numbers = dict(connection.execute("SELECT location, id FROM files"))
        for location, key, uses, lookups, text in batch:
            used_by = " ".join(str(numbers[use]) for use in uses)
            seal = self._seal(uses, lookups, text)
            values = location, key, engine(), used_by, lookups, text, seal
            connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?,?,?,?,?,?,?)", values)
            if key.startswith(_FIXES):
                connection.execute(_FORGET, (location, _FIXES, location, _FIXES, _RUNS))


def _hold_own(connection: sqlite3.Connection) -> None:
    """Mark an empty database as namecheck's; raise for any other database."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if (application, version) == (_APPLICATION, _VERSION):
        return
    if application or version or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise Unusable("it is not one of this version of namecheck")
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _settings(settings: Settings) -> bytes:
    """A digest of the settings that an outcome depends on: not those that filter findings."""
    rows = settings.rows()
    table = "" if rows is None else repr(sorted(rows.items()))
    python = repr(sys.version_info[:2])
    removed = repr(settings.removed_api)
    values = settings.semantics.value, settings.attributes, removed, table, python
    return digest(engine(), *(word.encode() for word in values))


def _modules(outcome: Outcome) -> set[str]:
    return outcome.uses.modules if outcome.uses else set()
