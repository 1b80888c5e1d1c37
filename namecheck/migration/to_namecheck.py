"""The migration to namecheck's own named tensors: names are installed where programs start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from namecheck.core.faults import Exhausted
from namecheck.core.syntax import Source
from namecheck.editing.edits import Edit, applied
from namecheck.migration import name_uses, verification
from namecheck.migration.entry_points import install_edit, is_installed, is_shared
from namecheck.migration.expenses import TOO_COSTLY
from namecheck.migration.migrated import InputFile, Migrated
from namecheck.migration.observations import Observations
from namecheck.migration.observed_file import ObservedFile
from namecheck.migration.round_trip_removal import RoundTripRemoval
from namecheck.migration.verification import Draft
from namecheck.project.files import ProjectFiles


def to_namecheck(
    input_files: Sequence[InputFile], observations: Observations, *, unsafe: bool
) -> Iterator[Migrated]:
    """Each file with the call that installs the names, if a program starts from it.

    With `unsafe`, names that operators keep are not stripped for these operators.
    """
    files = ProjectFiles()
    imported = {
        location
        for entry, document, _ in input_files
        for location in files.imported(entry.location, document.data)
    }
    installed = any(is_installed(document.source, files) for _, document, _ in input_files)
    for one in input_files:
        entry, document, _ = one
        fault = observations.fault(entry.location)
        given_up = observations.given_up(entry.location)
        edits: list[Edit] = []
        if fault is None:
            shared = is_shared(entry.location, imported)
            edit = install_edit(document.source, observations, files, shared=shared)
            edits += [] if edit is None else [edit]
            try:
                edits += _without_round_trips(one, input_files, observations) if unsafe else ()
            except Exhausted:
                given_up = given_up or TOO_COSTLY
            if not edits and not installed:
                fault = given_up  # it may be what a program starts from
        after = applied(document, edits)
        waits = not installed and name_uses.uses_names(document.source.tree)
        yield Migrated(
            entry.path,
            document,
            after,
            len(edits),
            failure=fault,
            waits=waits,
            unfinished=None if fault else given_up,
        )


def _without_round_trips(
    input_file: InputFile, input_files: Sequence[InputFile], observations: Observations
) -> tuple[Edit, ...]:
    """The edits that remove round trips, if they cause no finding; raises `Exhausted`."""
    entry, document, purse = input_file
    if observations.given_up(entry.location):
        raise Exhausted

    def again(changed: Source) -> Observations:
        fresh = Observations()
        fresh.add(changed)
        for each in input_files:
            if each.entry is entry:
                fresh.observe(changed, entry.settings, purse)
            else:
                fresh.observe(each.document.source, each.entry.settings)
        if fresh.given_up(entry.location):
            raise Exhausted
        return fresh

    file = ObservedFile(document, observations, entry.settings.rows())
    try:
        edits = RoundTripRemoval(file, again, purse).edits()
    except ValueError:
        return ()
    drafts = {entry.location: Draft(applied(document, edits))}
    findings = verification.findings(input_file, {}) if edits else ()
    return () if edits and verification.fault(input_file, findings, drafts) else edits
