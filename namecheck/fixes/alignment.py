"""Aligns an operand with another that has all of its names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from namecheck.core.findings import Finding, OperandFacts
from namecheck.editing.sites import Site, is_stable
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.operands import align_by_labels, aligned_operands, appended


@fix(
    "NC101",
    "NC102",
    safety=Safety.SETTLED,
    precedence=40,
    examples=(
        Example(
            """
            import torch

            images = torch.rand(8, 3, 4, 4, names=("N", "C", "H", "W"))
            scale = torch.ones(3, names=("C",))
            print((images * scale).names)
            """,
            """
            import torch

            images = torch.rand(8, 3, 4, 4, names=("N", "C", "H", "W"))
            scale = torch.ones(3, names=("C",))
            print((images * scale.align_as(images)).names)
            """,
            code="NC101",
            safe=True,
        ),
        Example(
            """
            import torch

            images = torch.rand(8, 3, 4, 4, names=("N", "C", "H", "W"))
            scale = torch.ones(3, names=("C",))
            print((images.abs() * (scale + 1)).names)
            """,
            """
            import torch

            images = torch.rand(8, 3, 4, 4, names=("N", "C", "H", "W"))
            scale = torch.ones(3, names=("C",))
            print((images.abs() * (scale + 1).align_to("N", "C", "H", "W")).names)
            """,
            code="NC101",
            safe=True,
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def shift(
                x: Annotated[Tensor, "batch chan height width"], bias: Annotated[Tensor, "chan"]
            ) -> Annotated[Tensor, "batch chan height width"]:
                return x + bias
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def shift(
                x: Annotated[Tensor, "batch chan height width"], bias: Annotated[Tensor, "chan"]
            ) -> Annotated[Tensor, "batch chan height width"]:
                return x + bias[:, None, None]
            """,
            code="NC101",
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor, nn


            class Regression(nn.Module):
                def __init__(self, features: int) -> None:
                    super().__init__()
                    self.head = nn.Linear(features, 1)

                def loss(
                    self, x: Annotated[Tensor, "n d"], target: Annotated[Tensor, "n"]
                ) -> Tensor:
                    return ((self.head(x) - target) ** 2).mean()
            """,
            """
            from typing import Annotated

            from torch import Tensor, nn


            class Regression(nn.Module):
                def __init__(self, features: int) -> None:
                    super().__init__()
                    self.head = nn.Linear(features, 1)

                def loss(
                    self, x: Annotated[Tensor, "n d"], target: Annotated[Tensor, "n"]
                ) -> Tensor:
                    return ((self.head(x) - target[:, None]) ** 2).mean()
            """,
            code="NC102",
        ),
    ),
)
def align_operand(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Aligns an operand with another that has all of its names: `align_as`, or `[:, None]`."""
    operands = aligned_operands(finding, site)
    attempts: set[tuple[OperandFacts, object]] = set()
    for own, model in permutations(sorted(operands, key=lambda one: not _is_stable(one, site)), 2):
        if own.names is None or model.names is None or len(own.names) >= len(model.names):
            continue
        if (own, model.names) in attempts:  # of several equal ones, one is enough
            continue
        attempts.add((own, model.names))
        if own.labelled and model.labelled:
            yield from align_by_labels(own, model, site, certain=True)
        else:
            yield from _by_new_dims(own, model, site)


def _is_stable(own: OperandFacts, site: Site) -> bool:
    node = site.expression(own.span)
    return node is not None and is_stable(node)


def _by_new_dims(own: OperandFacts, model: OperandFacts, site: Site) -> Iterator[Proposal]:
    """All ways to align the dims of one operand with dims of the other that have their names."""
    node = site.expression(own.span)
    if node is None or own.names is None or model.names is None or None in own.names:
        return
    ways = [
        places
        for places in combinations(range(len(model.names)), len(own.names))
        if all(model.names[place] == name for place, name in zip(places, own.names, strict=True))
    ]
    for places in ways:
        new = [place not in places for place in range(min(places, default=0), len(model.names))]
        if any(new):
            index = f"[{', '.join('None' if one else ':' for one in new)}]"
            edits = site.behind(node, index)
            what = f"Give `{site.text(node)}` the dims it lacks"
            yield appended(what, edits, index, certain=False)
