"""What came of earlier runs, in one file, for as long as all that it depends on is as it was.

That is an outcome of each file, and the fixes of what was found in it. It depends on namecheck
itself, on the settings, on the contents of all files that were read for it, and on where modules
were found. A cache that cannot be used is left alone, and a note tells.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

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


# Of the fixes of a file all but the latest.
_FORGET: Final = """
DELETE FROM outcomes WHERE location = ? AND substr(context, 1, 5) = ? AND rowid NOT IN (
    SELECT rowid FROM outcomes WHERE location = ? AND substr(context, 1, 5) = ?
    ORDER BY rowid DESC LIMIT ?
)
"""

# What comes of a record that somebody else has written.
_BROKEN: Final = (KeyError, ValueError, TypeError, IndexError, AttributeError)


class Unusable(Exception):
    """A cache that cannot be used; the message tells why."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What is remembered: the files it depends on, where modules were found, and a seal."""

    uses: str
    found: str
    told: str
    seal: bytes


_Record: TypeAlias = tuple[str, bytes, list[str], str, str]
"""What is to be remembered: its file and its context, the files that were read, where modules
were found, and the text."""

# What is told of a file under so many runs of other files is kept at once.
_FIXES: Final = b"fixes"
_RUNS: Final = 4


class Cache:
    """The outcomes that a folder remembers; `notes` says why it could not be used."""

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
        known: dict[str, tuple[str, bytes]] = {}
        with self._noted():
            if os.path.exists(self._path):
                with self._connection() as connection:
                    known = self._read(connection)
        self.contents = Contents(known)

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, FILE)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """What goes wrong with the cache is told, and does no more harm."""
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
        known: dict[str, tuple[str, bytes]] = {}
        for number, location, stamp, found in connection.execute("SELECT * FROM files"):
            self._ids[number] = location
            if stamp:
                known[location] = stamp, found
        select = "SELECT location, context, uses, found, outcome, seal FROM outcomes WHERE engine=?"
        for location, context, *row in connection.execute(select, (engine(),)):
            self._rows[location, context] = _Row(*row)
        return known

    def get(self, tasks: Sequence[Task]) -> list[Outcome | None]:
        """The outcomes of files, None for each that has to be found anew."""
        for task in tasks:
            self.contents.found(task.entry.location, task.entry.stamp)
        return [self._get(task) for task in tasks]

    def _get(self, task: Task) -> Outcome | None:
        outcome = None
        if self._rows and task.entry.refusal is None:
            with suppress(*_BROKEN):
                row = self._row(task.entry.location, self._context(task))
                outcome = None if row is None else records.outcome_again(row.told)
        if outcome is None:
            self.contents.digest(task.entry.location)
        return outcome

    def _row(self, location: str, context: bytes) -> _Row | None:
        """What is remembered, if all is as it was; raises `_BROKEN`."""
        row = self._rows.get((location, context))
        if row is None or self._seal(self._uses(row), row.found, row.told) != row.seal:
            return None
        known = records.found_again(row.found)
        return row if all(self._files.find(*query) == result for query, result in known) else None

    def _uses(self, row: _Row) -> list[str]:
        return [self._ids[int(number)] for number in row.uses.split()]

    def fixes(self, entries: Sequence[Entry], location: str) -> tuple[Fixes, Reads]:
        """The fixes of one of the files of a run, as far as known, and what they depend on."""
        with suppress(*_BROKEN):
            row = self._row(location, self._run(entries))
            if row is not None:
                found = dict(records.found_again(row.found))
                return records.fixes_again(row.told), Reads(set(self._uses(row)), found)
        return {}, Reads()

    def _run(self, entries: Sequence[Entry]) -> bytes:
        """All but files that the fixes of a run depend on: which files it has, and how."""
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

    def _chosen(self, found: Settings) -> bytes:
        """The settings, with those that choose what is told."""
        made = self._settings.get(id(found))
        if made is None:
            told = repr(replace(found, output_format="", color="", cache_dir=None))
            made = digest(_settings(found), told.encode("utf-8", "replace"))
            self._settings[id(found)] = made
        return made

    def _context(self, task: Task) -> bytes:
        """All but files that an outcome depends on."""
        how = task.parses, task.leads
        key = id(task.entry.settings), how
        made = self._contexts.get(key)
        if made is None:
            made = digest(_settings(task.entry.settings), repr(how).encode())
            self._contexts[key] = made
        return made

    def _seal(self, uses: Sequence[str], found: str, outcome: str) -> bytes:
        """What changes with each file, and with the outcome itself."""
        contents = (part for use in uses for part in (use.encode(), self.contents.digest(use)))
        return digest(*contents, found.encode(), outcome.encode())

    # Writing

    def put(self, outcomes: Sequence[tuple[Task, Outcome]]) -> None:
        """Remember outcomes; not those of files that have changed in the meantime."""
        self._keep(
            (
                task.entry.location,
                self._context(task),
                uses,
                records.found(outcome.uses.found.items() if outcome.uses else ()),
                records.outcome(outcome),
            )
            for task, outcome in outcomes
            if not any(finding.code in ("NC002", "NC005") for finding in outcome.findings)
            and (uses := self._settled(task.entry.location, _modules(outcome))) is not None
        )

    def put_fixes(self, entries: Sequence[Entry], made: Mapping[str, tuple[Fixes, Reads]]) -> None:
        """Remember the fixes of some files of a run, each with what was read for them."""
        context = self._run(entries)
        self._keep(
            (location, context, uses, records.found(reads.found.items()), records.fixes(fixes))
            for location, (fixes, reads) in made.items()
            if (uses := self._settled(location, reads.locations)) is not None
        )

    def _keep(self, listed: Iterable[_Record]) -> None:
        if not self._usable or not (kept := list(listed)):
            return
        with self._noted():
            self._make_folder()
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                _hold_own(connection)
                self._write(connection, kept)
                connection.execute("COMMIT")

    def _settled(self, own: str, modules: set[str]) -> list[str] | None:
        """The files that something depends on; None if it is not to be remembered."""
        uses = sorted({own} | modules)
        looked = self.contents.is_settled(own)
        others = (self.contents.is_old(use) and self.contents.is_settled(use) for use in uses)
        return uses if (looked and all(others)) or (looked and uses == [own]) else None

    def _make_folder(self) -> None:
        os.makedirs(self.folder, exist_ok=True)
        ignored = os.path.join(self.folder, ".gitignore")
        if not os.path.exists(ignored):
            with open(ignored, "w", encoding="utf-8") as file:
                file.write("*\n")

    def _write(self, connection: sqlite3.Connection, kept: Sequence[_Record]) -> None:
        connection.execute("DELETE FROM outcomes WHERE engine != ?", (engine(),))
        used = {use: None for _, _, uses, _, _ in kept for use in uses}
        insert = "INSERT OR IGNORE INTO files (location) VALUES (?)"
        connection.executemany(insert, [(use,) for use in used])
        connection.executemany(
            "UPDATE files SET stamp=?, digest=? WHERE location=?",
            [(stamp, found, location) for location, stamp, found in self.contents.stamps()],
        )
        numbers = dict(connection.execute("SELECT location, id FROM files"))
        for location, context, uses, found, told in kept:
            used_by = " ".join(str(numbers[use]) for use in uses)
            seal = self._seal(uses, found, told)
            row = location, context, engine(), used_by, found, told, seal
            connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?,?,?,?,?,?,?)", row)
            if context.startswith(_FIXES):
                connection.execute(_FORGET, (location, _FIXES, location, _FIXES, _RUNS))


def _hold_own(connection: sqlite3.Connection) -> None:
    """Hold that a database is of namecheck; an empty one becomes so."""
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


def _settings(found: Settings) -> bytes:
    """What of the settings an outcome depends on: not what is chosen from it afterwards."""
    rows = found.rows()
    table = "" if rows is None else repr(sorted(rows.items()))
    python = repr(sys.version_info[:2])
    removed = repr(found.removed_api)
    words = found.semantics.value, found.attributes, removed, table, python
    return digest(engine(), *(word.encode() for word in words))


def _modules(outcome: Outcome) -> set[str]:
    return outcome.uses.modules if outcome.uses else set()
