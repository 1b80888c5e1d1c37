"""Reorders the dims of the second of two operands with the same labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.operands import align_by_labels, aligned_operands, joined_operands


@fix(
    "NC101",
    "NC102",
    "NC201",
    safety=Safety.NEVER,
    precedence=50,
    examples=(
        Example(
            """
            import torch

            one = torch.rand(2, 3, names=("N", "C"))
            other = torch.rand(3, 2, names=("C", "N"))
            print((one + other).names)
            """,
            """
            import torch

            one = torch.rand(2, 3, names=("N", "C"))
            other = torch.rand(3, 2, names=("C", "N"))
            print((one + other.align_as(one)).names)
            """,
            code="NC101",
        ),
        Example(
            """
            import torch

            x = torch.rand(2, 3, names=("N", "C"))
            y = torch.rand(2, 3, names=("N", "C"))
            print((x + (y * 2).align_to("C", "N")).names)
            """,
            """
            import torch

            x = torch.rand(2, 3, names=("N", "C"))
            y = torch.rand(2, 3, names=("N", "C"))
            print((x + (y * 2).align_as(x)).names)
            """,
            code="NC101",
        ),
        Example(
            """
            import torch

            x = torch.rand(2, 3, names=("N", "C"))
            more = torch.rand(3, 4, names=("C", "N"))
            print(torch.cat([x, more], "N").names)
            """,
            """
            import torch

            x = torch.rand(2, 3, names=("N", "C"))
            more = torch.rand(3, 4, names=("C", "N"))
            print(torch.cat([x, more.align_as(x)], "N").names)
            """,
            code="NC101",
        ),
        Example(
            """
            import torch

            x = torch.rand(2, 3, names=("N", "C"))
            y = torch.rand(3, 2, names=("C", "N"))
            print(torch.cosine_similarity(x, y, dim=0).names)
            """,
            """
            import torch

            x = torch.rand(2, 3, names=("N", "C"))
            y = torch.rand(3, 2, names=("C", "N"))
            print(torch.cosine_similarity(x, y.align_as(x), dim=0).names)
            """,
            code="NC101",
        ),
    ),
)
def reorder_second_operand(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Gives the second of two operands with the same labels the order of the first."""
    operands = aligned_operands(finding, site) or joined_operands(finding, site)
    for first, second in pairwise(operands):
        if first.names is None or second.names is None or not first.labelled:
            continue
        if sorted(map(str, first.names)) == sorted(map(str, second.names)):
            yield from align_by_labels(second, first, site, certain=False)
