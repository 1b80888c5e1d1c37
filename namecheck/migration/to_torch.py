"""The migration to plain torch: the names are compiled away, file by file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from namecheck.core.faults import Exhausted
from namecheck.core.file_replacement import CannotWrite
from namecheck.core.findings import Kind, is_of_attributes, is_of_sizes, register
from namecheck.core.regular_files import real_path
from namecheck.editing.documents import Document
from namecheck.editing.edits import applied
from namecheck.migration import verification
from namecheck.migration.compilation import Compilation, LeftPlace
from namecheck.migration.expenses import TOO_COSTLY
from namecheck.migration.migrated import InputFile, Migrated
from namecheck.migration.observations import Observations
from namecheck.migration.observed_file import ObservedFile
from namecheck.migration.unused_constants import without_unused
from namecheck.migration.verification import Draft


def to_torch(input_files: Sequence[InputFile], observations: Observations) -> Iterator[Migrated]:
    """Each file without names; its findings are checked with all other files migrated.

    Annotations are left out where they cause findings.
    """
    drafts: dict[str, Draft] = {}
    compiled: list[InputFile] = []
    for one in input_files:
        location = one.entry.location
        fault = observations.fault(location) or observations.given_up(location)
        try:
            if not fault:
                drafts[location] = _draft(one, observations, annotate=True)
        except (ValueError, CannotWrite) as error:
            fault = str(error)
        except Exhausted:
            fault = TOO_COSTLY
        if fault:
            yield Migrated(one.entry.path, one.document, one.document, failure=fault)
        else:
            compiled.append(one)
    for one in compiled:
        try:
            yield _settled(one, observations, drafts)
        except Exhausted:
            drafts[one.entry.location] = Draft(one.document)
            yield Migrated(one.entry.path, one.document, one.document, failure=TOO_COSTLY)


def _settled(
    input_file: InputFile, observations: Observations, drafts: dict[str, Draft]
) -> Migrated:
    """The migrated file; unchanged where it would cause findings; raises `Exhausted`."""
    entry, document, _ = input_file
    draft = drafts[entry.location]
    if draft.after == document and not draft.left:
        return Migrated(entry.path, document, document)
    findings = verification.findings(input_file, {})
    fault = verification.fault(input_file, findings, drafts)
    if fault:
        draft = drafts[entry.location] = _draft(input_file, observations, annotate=False)
        fault = verification.fault(input_file, findings, drafts)
    if fault:
        drafts[entry.location] = Draft(document)
        # The places that are left may be the cause of the findings.
        return Migrated(entry.path, document, document, left=draft.left, failure=fault)
    after = without_unused(document, draft.after)
    return Migrated(entry.path, document, after, draft.sites, draft.left)


def _draft(input_file: InputFile, observations: Observations, *, annotate: bool) -> Draft:
    """One file without names; raises `ValueError`, `CannotWrite` and `Exhausted`."""
    entry, document, purse = input_file
    file = ObservedFile(document, observations, entry.settings.rows())
    compiled = Compilation(file, purse, annotate=annotate).compiled()
    after = applied(document, compiled.edits)
    if not compiled.edits and not compiled.left:
        return Draft(document)
    spans = {place.span for place in compiled.left}
    contradicted = [
        place for place in _contradicted(document, observations) if place.span not in spans
    ]
    return Draft(after, compiled.sites, tuple(sorted([*compiled.left, *contradicted])))


def _contradicted(document: Document, observations: Observations) -> Iterator[LeftPlace]:
    """Places where names contradict each other, which plain torch does not see."""
    source = document.source
    for finding in observations.contradictions(document.location):
        if (
            real_path(finding.filename) == real_path(document.location)
            and register()[finding.code].kind is Kind.FINDING
            and not is_of_sizes(finding.code)
            and not is_of_attributes(finding.code)
        ):
            reason = f"{finding.code}: {finding.message.splitlines()[0]}"
            yield LeftPlace(finding.span, source.segment(finding.span), reason)
