"""The migration to namecheck's own named tensors: names are installed where programs start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from namecheck.core.syntax import Source
from namecheck.editing.edits import Edit, applied
from namecheck.migration import name_uses, verification
from namecheck.migration.entry_points import install_edit, is_installed, is_shared
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
        for entry, document in input_files
        for location in files.imported(entry.location, document.data)
    }
    installed = any(is_installed(document.source, files) for _, document in input_files)
    for one in input_files:
        entry, document = one
        fault = observations.fault(entry.location)
        edits: list[Edit] = []
        if fault is None:
            shared = is_shared(entry.location, imported)
            edit = install_edit(document.source, observations, files, shared=shared)
            edits += [] if edit is None else [edit]
            edits += _without_round_trips(one, input_files, observations) if unsafe else ()
        after = applied(document, edits)
        waits = not installed and name_uses.uses_names(document.source.tree)
        yield Migrated(entry.path, document, after, len(edits), failure=fault, waits=waits)


def _without_round_trips(
    input_file: InputFile, input_files: Sequence[InputFile], observations: Observations
) -> tuple[Edit, ...]:
    """The edits that remove round trips, if they cause no finding."""
    entry, document = input_file

    def again(changed: Source) -> Observations:
        fresh = Observations()
        fresh.add(changed)
        for each in input_files:
            source = changed if each.entry is entry else each.document.source
            fresh.observe(source, each.entry.settings)
        return fresh

    file = ObservedFile(document, observations, entry.settings.rows())
    try:
        edits = RoundTripRemoval(file, again).edits()
    except ValueError:
        return ()
    drafts = {entry.location: Draft(applied(document, edits))}
    findings = verification.findings(entry, {}) if edits else ()
    return () if edits and verification.fault(entry, findings, drafts) else edits
