"""Restores names on a torch without them, in the file that a program starts from."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC701",
    safety=Safety.NEVER,
    examples=(
        Example(
            '''
            """Counts pixels."""

            import torch
            from torch import nn

            images = torch.ones(2, 3, 4, 4, names=("N", "C", "H", "W"))
            print(images.sum(("H", "W")).names)
            print(nn.Identity()(images).names)
            ''',
            '''
            """Counts pixels."""

            import torch
            from torch import nn
            import namecheck

            namecheck.install()

            images = torch.ones(2, 3, 4, 4, names=("N", "C", "H", "W"))
            print(images.sum(("H", "W")).names)
            print(nn.Identity()(images).names)
            ''',
            torch=">=2.13",
        ),
    ),
)
def call_install(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Calls `namecheck.install()` in a file that a program starts from, as `migrate` does."""
    from namecheck.migration.entry_points import install_edit, is_shared  # with the interpreter
    from namecheck.migration.observations import Observations

    observations = Observations(site.files())
    observations.observe(site.source, site.settings)
    if observations.fault(site.source.filename) is None:
        shared = is_shared(site.source.filename, site.imported())
        edit = install_edit(site.source, observations, site.files(), shared=shared)
        if edit is not None:
            yield Proposal("Install names on torch: `namecheck.install()`.", (edit,))
