"""Brings the dims of an argument into the declared order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Final

from namecheck.core.findings import Finding, OperandFacts
from namecheck.editing.sites import Site, quoted
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix

_RANK: Final = 4


@fix(
    "NC112",
    safety=Safety.NEVER,
    precedence=90,
    searches=True,
    examples=(
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def scale(images: Annotated[Tensor, "N C"]) -> Annotated[Tensor, "N C"]:
                return images * 2


            x = torch.zeros(3, 2, names=("C", "N"))
            print(scale(x).names)
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def scale(images: Annotated[Tensor, "N C"]) -> Annotated[Tensor, "N C"]:
                return images * 2


            x = torch.zeros(3, 2, names=("C", "N"))
            print(scale(x.align_to("N", "C")).names)
            """,
        ),
    ),
)
def reorder_argument(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Brings the dims of an argument into the declared order: `.align_to()`, `.mT`."""
    for argument in finding.facts.operands if finding.facts else ():
        node, names = site.expression(argument.span), argument.names or ()
        if node is None or not 2 <= len(names) <= _RANK:
            continue
        text = site.line(node)
        for order in _orders(argument, site.quote(node)):
            yield Proposal(f"Reorder the dims of `{text}`: `{order}`.", site.behind(node, order))


def _orders(own: OperandFacts, quote: str) -> Iterator[str]:
    """The ways to reorder the dims of a tensor: by their labels, or by swapping two."""
    names = own.names or ()
    if own.labelled:
        for order in permutations(names):
            if order != names and None not in order:
                yield f".align_to({', '.join(quoted(str(name), quote) for name in order)})"
        return
    for i, j in combinations(range(len(names)), 2):
        yield ".mT" if i == len(names) - 2 else f".transpose({i}, {j})"
