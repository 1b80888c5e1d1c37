"""Migrates the files of a project off the named tensors that torch 2.13 removed."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

from namecheck import project
from namecheck.core import regular_files, syntax
from namecheck.core.dataclasses import replace
from namecheck.core.file_replacement import CannotWrite
from namecheck.core.garbage import seldom_collected
from namecheck.core.syntax import Refused
from namecheck.editing.documents import Document
from namecheck.migration import name_uses
from namecheck.migration.migrated import InputFile, Migrated
from namecheck.migration.name_arguments import is_of_names
from namecheck.migration.observations import Observations
from namecheck.migration.to_namecheck import to_namecheck
from namecheck.migration.to_torch import to_torch
from namecheck.project import Entry
from namecheck.project.files import ProjectFiles
from namecheck.project.tasks import Task


class Road(enum.Enum):
    """The target of a migration: plain torch, or namecheck's own named tensors."""

    TORCH = "torch"
    NAMECHECK = "namecheck"


@seldom_collected()
def migrate(entries: Sequence[Entry], road: Road, *, unsafe: bool = False) -> list[Migrated]:
    """Migrate files; those that use no names are left out. Nothing is written.

    With `unsafe`, names that operators keep are not stripped for these operators.
    """
    migrated: list[Migrated] = []
    input_files: list[InputFile] = []
    for task in project.tasks_of(entries, ProjectFiles()):
        entry = task.entry
        if entry.refusal is not None:
            failure = f"It cannot be read: {entry.refusal}."
            migrated.append(Migrated(entry.path, None, None, failure=failure))
            continue
        try:
            document = _read(task)
        except (Refused, OSError) as error:
            migrated.append(Migrated(entry.path, None, None, failure=_reason(error)))
        else:
            input_files += [] if document is None else [InputFile.of(entry, document)]
    trees = [one.document.source.tree for one in input_files]
    uses = any(map(name_uses.uses_names, trees))
    if uses or (road is Road.TORCH and any(map(name_uses.may_be_left, trees))):
        observations = Observations(doubts=uses)
        for entry, document, purse in input_files:
            observations.observe(document.source, entry.settings, purse)
        input_files += _reached(entries, input_files, observations)
        if road is Road.NAMECHECK:
            migrated += to_namecheck(input_files, observations, unsafe=unsafe)
        else:
            migrated += to_torch(input_files, observations)
    return sorted(migrated, key=lambda one: one.path)


def write(files: Sequence[Migrated], entries: Sequence[Entry]) -> list[Migrated]:
    """Write the files that change; a file that cannot be written gets a failure."""
    linked = {entry.path for entry in entries if entry.linked}
    # A file that a link leads to as well is written under its own name.
    ordered = sorted(files, key=lambda one: one.path in linked)
    by_path = {one.path: _written(one, linked=one.path in linked) for one in ordered}
    return [by_path[one.path] for one in files]


def _written(one: Migrated, *, linked: bool) -> Migrated:
    if not one.changed or one.before is None or one.after is None:
        return one
    location = one.before.location
    try:
        target = one.before.write(one.after.data, linked=linked)
    except CannotWrite as error:
        failure = str(error).removeprefix(f"{location}: ")
        return replace(one, after=one.before, sites=0, failure=failure)
    return one if target in ("", location) else replace(one, target=target)


def _read(task: Task) -> Document | None:
    """A file that names dimensions, or leads to such files; raises `Refused` and OSError."""
    data = regular_files.contents(task.entry.location)
    if not (task.leads or syntax.names_something(data)):
        return None
    document = Document.of(data, task.entry.location)
    assert document.source.tree is not None, "it is parsed here, for what it may raise"
    return document


def _reason(problem: Refused | OSError) -> str:
    if isinstance(problem, OSError):
        return f"It cannot be read: {problem.strerror or problem}."
    at = problem.finding.span
    return f"{problem.finding.message} ({problem.finding.code}, line {at.line})"


def _reached(
    entries: Sequence[Entry], input_files: Sequence[InputFile], observations: Observations
) -> Iterator[InputFile]:
    """The files without names of their own that receive named tensors."""
    read = {one.entry.location for one in input_files}
    for entry in entries:
        location = entry.location
        if location not in read and any(map(is_of_names, observations.in_file(location))):
            yield InputFile.of(entry, Document.of(regular_files.contents(location), location))
