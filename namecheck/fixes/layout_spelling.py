"""Corrects a misspelt layout or memory format."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core import layouts
from namecheck.core.findings import Edit, Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC504",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch

            x = torch.rand(2, 3, 4, 4, names=("N", "C", "H", "W"))
            print(x.contiguous(memory_format=torch.chanels_last).names)
            """,
            """
            import torch

            x = torch.rand(2, 3, 4, 4, names=("N", "C", "H", "W"))
            print(x.contiguous(memory_format=torch.channels_last).names)
            """,
        ),
    ),
)
def spell_layout(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Corrects a misspelt layout or memory format."""
    node = site.expression(finding.span)
    near = layouts.nearest(node.attr) if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Attribute) and near is not None:
        at = site.source.span(node).tail(len(node.attr))
        yield Proposal(f"Replace '{node.attr}' by '{near}'.", (Edit(at, near),))
