"""Transposes the second of two operands whose last two dims are swapped."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.transposition import is_product, transposed


@fix(
    "NC101",
    "NC102",
    safety=Safety.NEVER,
    precedence=60,
    examples=(
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def join(
                a: Annotated[Tensor, "rows cols"], b: Annotated[Tensor, "cols rows"]
            ) -> Tensor:
                return a + b
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def join(
                a: Annotated[Tensor, "rows cols"], b: Annotated[Tensor, "cols rows"]
            ) -> Tensor:
                return a + b.mT
            """,
            code="NC101",
        ),
    ),
)
def transpose_summand(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Transposes the second of two operands that have the same last two dims in another order."""
    facts = finding.facts
    if facts is None or len(facts.operands) != 2 or is_product(facts, site):
        return
    first, second = facts.operands
    if not first.names or second.names is None or len(second.names) < 2 or second.labelled:
        return
    swapped = (*second.names[:-2], second.names[-1], second.names[-2])
    if first.names[-len(swapped) :] == swapped:
        yield from transposed(second, site)
