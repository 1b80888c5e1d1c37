"""The outcomes of earlier runs in one SQLite file, each valid while its dependencies are unchanged.

An entry is the outcome of a file, or the fixes of its findings. Its key is the content of the file,
its name without folders, and the settings. It depends on namecheck itself, on the contents of all
files that were read for it, and on where modules were found: its `seal` is a digest of these, and
an entry whose seal does not match is stale. All its paths are relative to the folder of the file,
so a cache is valid for a copy of the tree in another folder. Another program may have written an
entry: each is validated when it is read, and an invalid one is a miss. An unusable cache is
ignored, with a note.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from namecheck.core import regular_files
from namecheck.core.dataclasses import dataclass, replace
from namecheck.project import cache_folder, paths, records
from namecheck.project.cache_folder import Unusable
from namecheck.project.contents import Contents, digest, engine
from namecheck.project.files import ProjectFiles, Reads
from namecheck.project.records import Fixes, Resolution
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry, Outcome, Task

FOLDER: Final = ".namecheck_cache"
FILE: Final = "outcomes.sqlite"

_APPLICATION: Final = 0x6E63686B
_VERSION: Final = 2
_PATIENCE: Final = 0.5
_TABLES: Final = (
    "CREATE TABLE stamps (location TEXT PRIMARY KEY, stamp TEXT, digest BLOB)",
    "CREATE TABLE outcomes (digest BLOB, name TEXT, context BLOB, place TEXT, engine BLOB,"
    " uses TEXT, lookups TEXT, record TEXT, seal BLOB,"
    " PRIMARY KEY (digest, name, context, place))",
)

# Of the entries of a file with the same settings, and of those for its fixes, only the latest are
# kept.
_FORGET: Final = """
DELETE FROM outcomes WHERE rowid IN (
    SELECT rowid FROM (
        SELECT rowid, row_number() OVER (
            PARTITION BY place, CASE WHEN substr(context, 1, 5) = ? THEN ? ELSE context END
            ORDER BY rowid DESC
        ) AS age FROM outcomes
    ) WHERE age > ?
)
"""
_KEPT: Final = 4
# How many entries of other files with the same content are tried for a file.
_TRIED: Final = 8
# Stamps of files outside this run are dropped if there are so many times more of them.
_STRANGE_STAMPS: Final = 4


_Key: TypeAlias = tuple[bytes, str, bytes]
"""The content of a file, its name without folders, and how it is checked."""


class _Row(NamedTuple):
    """An entry as text: the files it depends on, where modules were found, its record, a seal.

    `place` is its file as the user named it: of a place only the latest entries are kept.
    """

    place: str
    uses: str
    lookups: str
    record: str
    seal: bytes


@dataclass(frozen=True, slots=True)
class _Addition:
    """A new entry: its file, the files that were read, where modules were found, its record."""

    location: str
    place: str
    context: bytes
    uses: list[str]
    lookups: str
    record: str


_FIXES: Final = b"fixes"


class Cache:
    """The outcomes of earlier runs in a folder; `notes` says why the cache could not be used.

    Where a `project` is given, the folder must be in it.
    """

    def __init__(self, folder: str, project: str | None = None) -> None:
        self.folder = folder
        self.notes: list[str] = []
        self._rows: dict[_Key, list[_Row]] = {}
        self._contexts: dict[tuple[int, tuple[bool, bool]], bytes] = {}
        self._settings: dict[int, bytes] = {}
        self._runs: dict[int, tuple[bytes, dict[str, str]]] = {}
        self._files = ProjectFiles()
        self._extents = cache(lambda location: records.line_lengths(self._files.read(location)))
        self._usable = True
        digests: dict[str, tuple[str, bytes]] = {}
        with self._noted():
            cache_folder.require(folder, FILE, project)
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
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection
        finally:
            connection.close()

    # Reading

    def _read(self, connection: sqlite3.Connection) -> dict[str, tuple[str, bytes]]:
        digests: dict[str, tuple[str, bytes]] = {}
        if not _is_current(connection):
            return digests
        for location, stamp, file_digest in connection.execute("SELECT * FROM stamps"):
            if isinstance(stamp, str) and isinstance(file_digest, bytes):
                digests[location] = stamp, file_digest
        select = (
            "SELECT digest, name, context, place, uses, lookups, record, seal"
            " FROM outcomes WHERE engine = ? ORDER BY rowid DESC"
        )
        for file_digest, name, context, *columns in connection.execute(select, (engine(),)):
            row = _Row._make(columns)
            self._rows.setdefault((file_digest, name, context), []).append(row)
        return digests

    def get(self, tasks: Sequence[Task]) -> list[Outcome | None]:
        """The outcomes of files, None for each that must be checked."""
        for task in tasks:
            self.contents.set_stamp(task.entry.location, task.entry.stamp)
        outcomes = [self._get(task) for task in tasks]
        self._keep_stamps(len(tasks))
        return outcomes

    def _get(self, task: Task) -> Outcome | None:
        entry = task.entry
        # The digest is wanted in any case: it is of the file as it was before the analysis.
        file_digest = self.contents.digest(entry.location)
        if entry.refusal is None:
            key = file_digest, os.path.basename(entry.location), self._context(task)
            for row in self._candidates(key, entry.path):
                with suppress(*records.INVALID):
                    uses = self._dependencies(entry.location, row)
                    if uses is not None:
                        return records.outcome_of(row.record, entry.location, uses, self._extents)
        return None

    def _candidates(self, entry_key: _Key, path: str) -> Sequence[_Row]:
        """The entries of a file: its own, then those of others with the same content."""
        rows = self._rows.get(entry_key, ())
        if len(rows) < 2:
            return rows
        own = [row for row in rows if row.place == path]
        return [*own, *islice((row for row in rows if row.place != path), _TRIED)]

    def _dependencies(self, location: str, stored_row: _Row) -> list[str] | None:
        """The files that an entry depends on, if it holds for a file; raises `INVALID`."""
        uses = self._uses(location, stored_row) if stored_row.uses else [location]
        if uses is None or self._seal(uses, stored_row) != stored_row.seal:
            return None
        return uses if not stored_row.lookups or self._resolves(location, stored_row) else None

    def _uses(self, location: str, stored_row: _Row) -> list[str] | None:
        """The files of an entry; None where another file than a module would have to be read."""
        uses = records.locations_of(stored_row.uses, os.path.dirname(location))
        # Files that import each other in a cycle are run in this order.
        if uses != sorted(uses) or location not in uses:
            return None
        others = (use for use in uses if use != location)
        return uses if all(map(_is_module, others)) else None

    def _resolves(self, location: str, stored_row: _Row) -> bool:
        """Whether modules are found where they were found for an entry."""
        module, lookups = records.lookups_of(stored_row.lookups, os.path.dirname(location))
        return self._files.name(location) == module and all(
            self._files.find(*query) == result for query, result in lookups.items()
        )

    def fixes(self, entries: Sequence[Entry], location: str) -> tuple[Fixes, Reads]:
        """The fixes of one of the files of a run, as far as known, and what they depend on."""
        context, places = self._run(entries)
        key = self.contents.digest(location), os.path.basename(location), context
        for row in self._candidates(key, places.get(location, location)):
            with suppress(*records.INVALID):
                dependencies = self._dependencies(location, row)
                if dependencies is not None:
                    fixes = records.fixes_of(row.record, location, self._extents)
                    _, lookups = records.lookups_of(row.lookups, os.path.dirname(location))
                    return fixes, Reads(set(dependencies), lookups)
        return {}, Reads()

    def _run(self, entries: Sequence[Entry]) -> tuple[bytes, dict[str, str]]:
        """The key of the fixes of a run (its files and their settings), and the place of each."""
        if id(entries) not in self._runs:
            base = paths.common(entry.location for entry in entries)
            parts = (
                part
                for entry in entries
                for part in (
                    paths.relative(base, entry.location).encode("utf-8", "replace"),
                    repr((entry.explicit, entry.refusal)).encode("utf-8", "replace"),
                    self._chosen(base, entry.settings),
                )
            )
            places = {entry.location: entry.path for entry in entries}
            self._runs[id(entries)] = _FIXES + digest(*parts), places
        return self._runs[id(entries)]

    def _chosen(self, base: str, settings: Settings) -> bytes:
        """A digest of the settings, with those that filter findings."""
        key = self._settings.get(id(settings))
        if key is None:
            relevant = replace(
                settings,
                root=paths.relative(base, os.path.abspath(settings.root)),
                extend_operators=(),
                output_format="",
                color="",
                cache_dir=None,
                baseline=None,
            )
            key = digest(_settings(settings), repr(relevant).encode("utf-8", "replace"))
            self._settings[id(settings)] = key
        return key

    def _context(self, task: Task) -> bytes:
        """The settings, and how a file is checked."""
        modes = task.parses, task.leads
        key = id(task.entry.settings), modes
        digested = self._contexts.get(key)
        if digested is None:
            digested = digest(_settings(task.entry.settings), repr(modes).encode())
            self._contexts[key] = digested
        return digested

    def _seal(self, uses: Sequence[str], stored_row: _Row) -> bytes:
        """A digest of an entry, and of the files that it depends on."""
        contents = (self.contents.digest(use) for use in uses)
        return digest(
            *contents,
            stored_row.uses.encode(),
            stored_row.lookups.encode(),
            stored_row.record.encode(),
        )

    # Writing

    def store(self, outcomes: Sequence[tuple[Task, Outcome]]) -> None:
        """Store outcomes, except those of files that have changed in the meantime."""
        self._keep(
            _Addition(
                task.entry.location,
                task.entry.path,
                self._context(task),
                uses,
                self._lookups(task.entry.location, outcome.uses.found.items())
                if outcome.uses
                else "",
                records.outcome_text(outcome, uses),
            )
            for task, outcome in outcomes
            if not any(finding.code in ("NC002", "NC005") for finding in outcome.findings)
            and (uses := self._settled(task.entry.location, _dependencies_of(outcome))) is not None
        )

    def put_fixes(
        self, entries: Sequence[Entry], fixes_by_file: Mapping[str, tuple[Fixes, Reads]]
    ) -> None:
        """Store the fixes of some files of a run, each with the files that were read for it."""
        context, places = self._run(entries)
        self._keep(
            _Addition(
                location,
                places.get(location, location),
                context,
                uses,
                self._lookups(location, reads.lookups.items()),
                records.fixes_text(fixes),
            )
            for location, (fixes, reads) in fixes_by_file.items()
            if (uses := self._settled(location, reads.locations)) is not None
        )

    def _lookups(self, location: str, lookups: Iterable[Resolution]) -> str:
        """The name of a module and where modules were found for it, as text."""
        return records.lookups_text(self._files.name(location), os.path.dirname(location), lookups)

    def _keep(self, additions: Iterable[_Addition]) -> None:
        if not self._usable or not (batch := list(additions)):
            return
        with self._noted():
            cache_folder.make(self.folder)
            with self._writing() as connection:
                self._write(connection, batch)

    def _keep_stamps(self, count: int) -> None:
        """Keep the stamps of a tree that was copied or restored, whose every file was read."""
        if not self._usable or not self._rows or self.contents.read_anew <= count // 4:
            return
        if not (stamps := list(self.contents.stamps())):
            return
        self.contents.read_anew = 0
        with suppress(sqlite3.Error, OSError, Unusable), self._writing() as connection:
            _write_stamps(connection, stamps)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if not _is_current(connection):
                _make_tables(connection)
            yield connection
            connection.execute("COMMIT")

    def _settled(self, location: str, modules: set[str]) -> list[str] | None:
        """The files that an entry depends on; None if it must not be stored."""
        uses = sorted({location} | modules)
        if not all(map(_is_text, uses)):
            return None
        unchanged = self.contents.is_settled(location)
        old = (self.contents.is_old(use) and self.contents.is_settled(use) for use in uses)
        return uses if (unchanged and all(old)) or (unchanged and uses == [location]) else None

    def _write(self, connection: sqlite3.Connection, batch: Sequence[_Addition]) -> None:
        connection.execute("DELETE FROM outcomes WHERE engine != ?", (engine(),))
        _write_stamps(connection, list(self.contents.stamps()))
        rows = [self._columns(addition) for addition in batch]
        connection.executemany("INSERT OR REPLACE INTO outcomes VALUES (?,?,?,?,?,?,?,?,?)", rows)
        connection.execute(_FORGET, (_FIXES, _FIXES, _KEPT))

    def _columns(self, addition: _Addition) -> tuple[str | bytes, ...]:
        folder, name = os.path.split(addition.location)
        uses = addition.uses
        others = "" if uses == [addition.location] else records.locations_text(uses, folder)
        row = _Row(addition.place, others, addition.lookups, addition.record, b"")
        file_digest = self.contents.digest(addition.location)
        key = file_digest, name, addition.context, addition.place, engine()
        return *key, others, row.lookups, row.record, self._seal(uses, row)


def _is_text(path: str) -> bool:
    """Whether SQLite can hold a path: it has no bytes that are no UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _write_stamps(connection: sqlite3.Connection, stamps: Sequence[tuple[str, str, bytes]]) -> None:
    [count] = connection.execute("SELECT count(*) FROM stamps").fetchone()
    if count > _STRANGE_STAMPS * len(stamps) + 10_000:
        connection.execute("DELETE FROM stamps")
    storable = [stamp for stamp in stamps if _is_text(stamp[0])]
    connection.executemany("INSERT OR REPLACE INTO stamps VALUES (?,?,?)", storable)


def _is_module(location: str) -> bool:
    return location.endswith((".py", ".pyi")) or os.path.isdir(location)


def _is_current(connection: sqlite3.Connection) -> bool:
    """Whether a database has our tables, and not those of another version; raises `Unusable`."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    schema = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if (application, version) == (_APPLICATION, _VERSION):
        if sorted(schema) != sorted((table,) for table in _TABLES):
            raise Unusable("its tables are not those of namecheck")
        return True
    if application != _APPLICATION and (application or version or schema):
        raise Unusable("it is not one of namecheck")
    return False


def _make_tables(connection: sqlite3.Connection) -> None:
    """Make our tables in an empty database, or in one of another version."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"
    for (name,) in connection.execute(tables).fetchall():
        connection.execute('DROP TABLE "{}"'.format(name.replace('"', '""')))
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _settings(settings: Settings) -> bytes:
    """A digest of the settings that an outcome depends on: not those that filter findings."""
    python = repr(sys.version_info[:2])
    removed = repr(settings.removed_api)
    followed = repr(regular_files.largest())
    tables = (text for _, text in settings.operator_tables())
    values = (
        settings.semantics.value,
        settings.attributes,
        settings.evidence,
        removed,
        followed,
        python,
        *tables,
    )
    return digest(engine(), *(word.encode("utf-8", "replace") for word in values))


def _dependencies_of(outcome: Outcome) -> set[str]:
    """The files that an outcome depends on, and those that its findings name."""
    named = records.named_in(outcome)
    return named | outcome.uses.modules if outcome.uses else named
