"""Outcomes of earlier runs in one file, each for as long as all that it depends on is as it was.

It depends on namecheck itself, on the settings, on the contents of all files that were read for
it, and on where modules were found. A cache that cannot be used is left alone, and a note tells.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from namecheck.findings import Facts, Finding, Given, Place, Span
from namecheck.project.contents import Contents, digest, engine
from namecheck.project.files import ProjectFiles
from namecheck.project.suppression import Comments
from namecheck.project.tasks import Outcome, Task
from namecheck.settings import Settings
from namecheck.syntax import Suppression

if TYPE_CHECKING:
    from namecheck.interpreter import Query, Uses

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


class Unusable(Exception):
    """A cache that cannot be used; the message tells why."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A remembered outcome: the files it depends on, where modules were found, and a seal."""

    uses: str
    found: str
    outcome: str
    seal: bytes


class Cache:
    """The outcomes that a folder remembers; `notes` says why it could not be used."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.notes: list[str] = []
        self._ids: dict[int, str] = {}
        self._rows: dict[tuple[str, bytes], _Row] = {}
        self._contexts: dict[tuple[int, tuple[bool, bool]], bytes] = {}
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
        outcome = self._outcome(task) if self._rows and task.entry.refusal is None else None
        if outcome is None:
            self.contents.digest(task.entry.location)
        return outcome

    def _outcome(self, task: Task) -> Outcome | None:
        row = self._rows.get((task.entry.location, self._context(task)))
        if row is None:
            return None
        try:
            uses = [self._ids[int(number)] for number in row.uses.split()]
            if self._seal(uses, row.found, row.outcome) != row.seal:
                return None
            if any(self._files.find(*query) != result for query, result in _queries(row.found)):
                return None
            return _outcome(row.outcome)
        except (KeyError, ValueError, TypeError, IndexError):
            return None

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
        if not self._usable:
            return
        kept = [
            (task, outcome, uses)
            for task, outcome in outcomes
            if (uses := self._settled(task, outcome)) is not None
        ]
        if not kept:
            return
        with self._noted():
            self._make_folder()
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                _hold_own(connection)
                self._write(connection, kept)
                connection.execute("COMMIT")

    def _settled(self, task: Task, outcome: Outcome) -> list[str] | None:
        """The files that an outcome depends on; None if it is not to be remembered."""
        if any(finding.code in ("NC002", "NC005") for finding in outcome.findings):
            return None
        own = task.entry.location
        uses = sorted({own} | (outcome.uses.modules if outcome.uses else set()))
        looked = self.contents.is_settled(own)
        others = (self.contents.is_old(use) and self.contents.is_settled(use) for use in uses)
        return uses if (looked and all(others)) or (looked and uses == [own]) else None

    def _make_folder(self) -> None:
        os.makedirs(self.folder, exist_ok=True)
        ignored = os.path.join(self.folder, ".gitignore")
        if not os.path.exists(ignored):
            with open(ignored, "w", encoding="utf-8") as file:
                file.write("*\n")

    def _write(
        self, connection: sqlite3.Connection, kept: Sequence[tuple[Task, Outcome, list[str]]]
    ) -> None:
        connection.execute("DELETE FROM outcomes WHERE engine != ?", (engine(),))
        rows = []
        used = {use: None for _, _, uses in kept for use in uses}
        insert = "INSERT OR IGNORE INTO files (location) VALUES (?)"
        connection.executemany(insert, [(use,) for use in used])
        connection.executemany(
            "UPDATE files SET stamp=?, digest=? WHERE location=?",
            [(stamp, found, location) for location, stamp, found in self.contents.stamps()],
        )
        numbers = dict(connection.execute("SELECT location, id FROM files"))
        for task, outcome, uses in kept:
            found = _found(outcome.uses)
            told = json.dumps(_record(outcome), separators=(",", ":"))
            rows.append(
                (
                    task.entry.location,
                    self._context(task),
                    engine(),
                    " ".join(str(numbers[use]) for use in uses),
                    found,
                    told,
                    self._seal(uses, found, told),
                )
            )
        connection.executemany("INSERT OR REPLACE INTO outcomes VALUES (?,?,?,?,?,?,?)", rows)


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


# Records: JSON, as a cache may hold what somebody else has written


def _found(uses: Uses | None) -> str:
    found: Mapping[Query, str | None] = uses.found if uses else {}
    listed = sorted(([*query], result) for query, result in found.items())
    return json.dumps(listed, separators=(",", ":"))


@lru_cache(maxsize=256)
def _queries(text: str) -> tuple[tuple[tuple[str, int, str], str | None], ...]:
    return tuple(((*query,), result) for query, result in json.loads(text))


def _record(outcome: Outcome) -> dict[str, Any]:
    comments = outcome.comments
    record: dict[str, Any] = {"parsed": outcome.parsed}
    if outcome.findings:
        record["findings"] = [_finding(finding) for finding in outcome.findings]
    if comments is not None:
        record["comments"] = [
            comments.filename,
            [[[*_span(c.span)], c.line, c.words] for c in comments.suppressions],
            [[line, *ends] for line, ends in comments.statements.items()],
        ]
    return record


def _span(span: Span) -> list[int]:
    return [span.line, span.column, span.end_line, span.end_column]


def _finding(finding: Finding) -> list[Any]:
    return [
        finding.code,
        finding.message,
        finding.filename,
        _span(finding.span),
        finding.help,
        [[place.filename, _span(place.span), place.message] for place in finding.marks],
        [[place.filename, _span(place.span), place.message] for place in finding.related],
        finding.error,
        finding.facts and _facts(finding.facts),
    ]


def _facts(facts: Facts) -> list[Any]:
    given = [[_span(one.span), one.names, one.labelled, one.dtype] for one in facts.given]
    return [facts.operator, facts.words, given, facts.settled]


@lru_cache(maxsize=256)
def _outcome(text: str) -> Outcome:
    record, comments = json.loads(text), None
    if "comments" in record:
        filename, listed, statements = record["comments"]
        comments = Comments(
            filename,
            tuple(
                Suppression(Span(*span), line, None if words is None else tuple(words))
                for span, line, words in listed
            ),
            {line: (first, last) for line, first, last in statements},
        )
    findings = tuple(map(_found_again, record.get("findings", ())))
    return Outcome(findings, record["parsed"], comments)


def _found_again(record: list[Any]) -> Finding:
    code, message, filename, span, help_, marks, related, error, facts = record
    return Finding(
        code,
        message,
        filename,
        Span(*span),
        help_,
        tuple(Place(file, Span(*at), text) for file, at, text in marks),
        tuple(Place(file, Span(*at), text) for file, at, text in related),
        error,
        facts=facts and _facts_again(facts),
    )


def _facts_again(record: list[Any]) -> Facts:
    operator, words, given, settled = record
    return Facts(
        operator,
        tuple(words),
        tuple(
            Given(Span(*span), None if names is None else tuple(names), labelled, dtype)
            for span, names, labelled, dtype in given
        ),
        settled,
    )
