"""The way off the named tensors that torch 2.13 has no more, over the files of a project."""

from __future__ import annotations

import ast
import enum
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from namecheck import project
from namecheck.core import syntax
from namecheck.core.findings import Finding, Kind, is_of_attributes, is_of_sizes, register
from namecheck.core.syntax import Refused, Source
from namecheck.editing.documents import CannotWrite, Document
from namecheck.editing.edits import Edit, applied
from namecheck.migration import candidates
from namecheck.migration.entry_points import install_edit, is_installed, is_shared
from namecheck.migration.leftovers import without_unused
from namecheck.migration.plain import Left, Plain, Rewritten
from namecheck.migration.plain_calls import is_of_names
from namecheck.migration.restorations import Restorations
from namecheck.migration.survey import Survey
from namecheck.project import Entry
from namecheck.project.files import ProjectFiles
from namecheck.project.tasks import Task


class Road(enum.Enum):
    """Where a migration leads: to plain torch, or to namecheck's own named tensors."""

    TORCH = "torch"
    NAMECHECK = "namecheck"


@dataclass(frozen=True)
class Migrated:
    """One file: what it was, what it becomes, how many places are rewritten, and what is left.

    `failure` tells why the file could not be looked at, or not be changed; `waits` that it uses
    names, and that no file is seen that puts them on torch.
    """

    path: str
    before: Document | None
    after: Document | None
    sites: int = 0
    left: tuple[Left, ...] = ()
    failure: str | None = None
    waits: bool = False

    @property
    def changed(self) -> bool:
        """Whether it becomes another."""
        return self.after is not None and self.after != self.before


def migrate(entries: Sequence[Entry], road: Road, *, unsafe: bool = False) -> list[Migrated]:
    """What becomes of files on a road; those that use no names are left out. Nothing is written.

    With `unsafe`, names that are kept are not taken off for an operator that keeps them.
    """
    result: list[Migrated] = []
    found: list[tuple[Entry, Document]] = []
    for task in project.tasks_of(entries, ProjectFiles()):
        entry = task.entry
        try:
            document = _read(task)
        except (Refused, OSError) as error:
            result.append(Migrated(entry.path, None, None, failure=_reason(error)))
        else:
            found += [] if document is None else [(entry, document)]
    trees = [document.source.tree for _, document in found]
    uses = any(map(candidates.uses_names, trees))
    if uses or (road is Road.TORCH and any(map(candidates.may_be_left, trees))):
        survey = _surveyed(found, doubts=uses)
        found += _reached(entries, found, survey)
        if road is Road.NAMECHECK:
            result += _to_namecheck(found, survey, unsafe)
        else:
            result += _to_torch(found, survey)
    return sorted(result, key=lambda one: one.path)


def written(one: Migrated) -> Migrated:
    """Put what a file becomes in its place; what cannot be written is told as a failure."""
    if not one.changed or one.before is None or one.after is None:
        return one
    try:
        one.before.write(one.after.data)
    except CannotWrite as error:
        failure = str(error).removeprefix(f"{one.before.location}: ")
        return replace(one, after=one.before, sites=0, failure=failure)
    return one


def _read(task: Task) -> Document | None:
    """A file that names dimensions, or leads to such; raises `Refused` and OSError."""
    with open(task.entry.location, "rb", buffering=0) as file:
        data = file.readall()
    if not (task.leads or syntax.names_something(data)):
        return None
    document = Document.of(data, task.entry.location)
    assert document.source.tree is not None, "it is parsed here, for what it may raise"
    return document


def _reason(error: Refused | OSError) -> str:
    if isinstance(error, OSError):
        return f"It cannot be read: {error.strerror or error}."
    at = error.finding.span
    return f"{error.finding.message} ({error.finding.code}, line {at.line})"


def _surveyed(found: Sequence[tuple[Entry, Document]], *, doubts: bool) -> Survey:
    survey = Survey(doubts=doubts)
    for entry, document in found:
        survey.run(document.source, entry.settings)
    return survey


def _reached(
    entries: Sequence[Entry], found: Sequence[tuple[Entry, Document]], survey: Survey
) -> Iterator[tuple[Entry, Document]]:
    """The files that name nothing themselves, and are handed tensors that have names."""
    known = {entry.location for entry, _ in found}
    for entry in entries:
        if entry.location not in known and any(map(is_of_names, survey.in_file(entry.location))):
            with open(entry.location, "rb") as file:
                yield entry, Document.of(file.read(), entry.location)


def _to_namecheck(
    found: Sequence[tuple[Entry, Document]], survey: Survey, unsafe: bool
) -> Iterator[Migrated]:
    files = ProjectFiles()
    imported = {location for e, d in found for location in files.imported(e.location, d.data)}
    installed = any(is_installed(document.source, files) for _, document in found)
    for entry, document in found:
        fault = survey.fault(entry.location)
        edits: list[Edit] = []
        if fault is None:
            shared = is_shared(entry.location, imported)
            edit = install_edit(document.source, survey, files, shared=shared)
            edits += [] if edit is None else [edit]
            edits += _restorations(entry, document, found, survey) if unsafe else ()
        after = applied(document, edits)
        waits = not installed and candidates.uses_names(document.source.tree)
        yield Migrated(entry.path, document, after, len(edits), failure=fault, waits=waits)


def _restorations(
    entry: Entry, document: Document, found: Sequence[tuple[Entry, Document]], survey: Survey
) -> tuple[Edit, ...]:
    """The edits that leave the names on, if they bring no finding."""

    def again(changed: Source) -> Survey:
        surveyed = Survey()
        surveyed.hold(changed)
        for other, its in found:
            surveyed.run(changed if other is entry else its.source, other.settings)
        return surveyed

    try:
        edits = Restorations(document, survey, entry.settings.rows(), again).edits()
    except ValueError:
        return ()
    after = {entry.location: _Result(applied(document, edits))}
    return () if edits and _fault(entry, _findings(entry, {}), after) else edits


@dataclass(frozen=True)
class _Result:
    """What a file would become, and what is left of it."""

    after: Document
    sites: int = 0
    left: tuple[Left, ...] = ()


def _to_torch(found: Sequence[tuple[Entry, Document]], survey: Survey) -> Iterator[Migrated]:
    """Each file without names; whether it brings findings is asked with all others as they become.

    Annotations are left out where they bring findings.
    """
    results: dict[str, _Result] = {}
    compiled: list[tuple[Entry, Document]] = []
    for entry, document in found:
        fault = survey.fault(entry.location)
        try:
            if not fault:
                results[entry.location] = _compiled(entry, document, survey, annotate=True)
        except (ValueError, CannotWrite) as error:
            fault = str(error)
        if fault:
            yield Migrated(entry.path, document, document, failure=fault)
        else:
            compiled.append((entry, document))
    for entry, document in compiled:
        yield _settled(entry, document, survey, results)


def _settled(
    entry: Entry, document: Document, survey: Survey, results: dict[str, _Result]
) -> Migrated:
    result = results[entry.location]
    if result.after == document and not result.left:
        return Migrated(entry.path, document, document)
    before = _findings(entry, {})
    fault = _fault(entry, before, results)
    if fault:
        result = results[entry.location] = _compiled(entry, document, survey, annotate=False)
        fault = _fault(entry, before, results)
    if fault:
        results[entry.location] = _Result(document)
        # What is left may be what brings the findings.
        return Migrated(entry.path, document, document, left=result.left, failure=fault)
    after = without_unused(document, result.after)
    return Migrated(entry.path, document, after, result.sites, result.left)


def _compiled(entry: Entry, document: Document, survey: Survey, *, annotate: bool) -> _Result:
    """One file without names; raises `ValueError` and `CannotWrite`."""
    plain = Plain(document, entry.location, survey, entry.settings.rows(), annotate=annotate)
    rewritten = plain.rewritten()
    after = applied(document, rewritten.edits)
    if not rewritten.edits and not rewritten.left:
        return _Result(document)
    left = _merged(rewritten, _at_findings(document, survey.contradictions(entry.location)))
    return _Result(after, rewritten.sites, left)


def _merged(rewritten: Rewritten, at_findings: Sequence[Left]) -> tuple[Left, ...]:
    spans = {left.span for left in rewritten.left}
    return tuple(sorted([*rewritten.left, *(one for one in at_findings if one.span not in spans)]))


def _at_findings(document: Document, findings: Sequence[Finding]) -> list[Left]:
    """Places where names contradict each other, which plain torch does not see."""
    source = document.source
    return [
        Left(f.span, source.segment(f.span), f"{f.code}: {f.message.splitlines()[0]}")
        for f in findings
        if os.path.realpath(f.filename) == os.path.realpath(document.location)
        and register()[f.code].kind is Kind.FINDING
        and not is_of_sizes(f.code)
        and not is_of_attributes(f.code)
    ]


def _fault(entry: Entry, before: Sequence[Finding], results: Mapping[str, _Result]) -> str:
    """What is wrong with a result: it must parse, and bring no finding that was not there.

    What is left may be wrong from now on, as there are no more names where they came from.
    """
    try:
        sources = {os.path.realpath(at): one.after.source for at, one in results.items()}
    except Refused as refused:
        return f"what would become of it is no Python: {refused.finding.message}"
    left = {
        os.path.realpath(at): {_called(it.source) for it in r.left} for at, r in results.items()
    }
    counts = Counter(finding.code for finding in before)
    new = []
    for finding in _findings(entry, results):
        at = os.path.realpath(finding.filename)
        text = sources[at].segment(finding.span) if at in sources else ""
        if _called(text) not in left.get(at, ()):
            counts[finding.code] -= 1
            if counts[finding.code] < 0:
                new.append(f"{finding.code} at `{text}`" if text else finding.code)
    return f"what would become of it has new findings: {', '.join(new)}" if new else ""


def _called(text: str) -> str:
    """The method or attribute that an expression ends with, or the expression."""
    try:
        node: ast.AST = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return text
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def _findings(entry: Entry, results: Mapping[str, _Result]) -> tuple[Finding, ...]:
    overlay = {location: result.after.data for location, result in results.items()}
    return project.check([entry], jobs=1, overlay=overlay).findings
