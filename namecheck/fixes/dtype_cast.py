"""Casts one of two operands that must have the same dtype: the one of the lower kind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from namecheck.core.dtypes import KINDS
from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC305",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch

            counts = torch.arange(3).refine_names("C")
            weights = torch.rand(2, 3, names=("N", "C"))
            print((weights @ counts).names)
            """,
            """
            import torch

            counts = torch.arange(3).refine_names("C")
            weights = torch.rand(2, 3, names=("N", "C"))
            print((weights @ counts.to(torch.float32)).names)
            """,
        ),
    ),
)
def cast_lower_kind(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Casts the operand of the lower kind (an integer, not a float): `.to(torch.float32)`."""
    operands = finding.facts.operands if finding.facts else ()
    for own, model in permutations(operands, 2):
        node = site.expression(own.span)
        if node is None or own.dtype not in KINDS or model.dtype not in KINDS:
            continue
        if KINDS[own.dtype].category < KINDS[model.dtype].category:
            call = f".to(torch.{model.dtype})"
            text = site.line(node)
            yield Proposal(f"Cast `{text}`: `{call}`.", site.behind(node, call))
