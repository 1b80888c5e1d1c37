"""Corrects a misspelt device."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core import devices
from namecheck.core.findings import Finding
from namecheck.editing.sites import Site, quoted
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC402",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch

            x = torch.rand(2, names=("N",), device="cpuu")
            print(x.names)
            """,
            """
            import torch

            x = torch.rand(2, names=("N",), device="cpu")
            print(x.names)
            """,
        ),
    ),
)
def spell_device(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Corrects a misspelt device."""
    node = site.expression(finding.span)
    for string in () if node is None else site.strings(node):
        word = str(string.value)
        near = devices.nearest(word)
        if near is not None and near != word:
            edit = site.replaced(string, quoted(near, site.text(string)))
            yield Proposal(f"Replace '{word}' by '{near}'.", (edit,))
