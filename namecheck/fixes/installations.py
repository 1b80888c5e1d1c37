"""Names put back on torch, where it has none any more."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core.findings import Finding, Fix
from namecheck.editing.sites import Site


def installed(finding: Finding, site: Site) -> Iterator[Fix]:
    """Calls `namecheck.install()` in a file from which a program starts, as `migrate` does."""
    from namecheck.migration.entry_points import install_edit, is_shared  # with the interpreter
    from namecheck.migration.survey import Survey

    survey = Survey(site.files())
    survey.run(site.source, site.settings)
    if survey.fault(site.source.filename) is None:
        shared = is_shared(site.source.filename, site.imported())
        edit = install_edit(site.source, survey, site.files(), shared=shared)
        if edit is not None:
            yield Fix("Put names on torch: `namecheck.install()`.", False, (edit,))
