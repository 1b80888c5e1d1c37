"""Corrects a misspelt name in the order that an alignment requests."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.spelling import nearest_word, string_edits


@fix(
    "NC108",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch

            x = torch.rand(3, 2, names=("channels", "batch"))
            print(x.align_to("batch", "chanels").names)
            """,
            """
            import torch

            x = torch.rand(3, 2, names=("channels", "batch"))
            print(x.align_to("batch", "channels").names)
            """,
        ),
    ),
)
def spell_dim_of_alignment(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Corrects a name in the requested order that is nearly the same as one of the tensor."""
    facts, node = finding.facts, site.expression(finding.span)
    if facts is None or node is None:
        return
    names = {name for operand in facts.operands[:1] for name in operand.names or ()}
    misspelt = {str(string.value) for string in site.strings(node)} - names
    for word in facts.words:
        nearest = nearest_word(word, misspelt)
        if nearest is not None:
            edits = tuple(string_edits(node, nearest, word, site))
            yield Proposal(f"Replace '{nearest}' by '{word}'.", edits)
