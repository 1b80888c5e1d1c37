"""Transposes a factor of a product whose last two dims are swapped."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.transposition import is_product, transposed


@fix(
    "NC101",
    safety=Safety.NEVER,
    precedence=20,
    examples=(
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def attend(
                q: Annotated[Tensor, "b t d"],
                k: Annotated[Tensor, "b s d"],
                v: Annotated[Tensor, "b s e"],
            ) -> Annotated[Tensor, "b t e"]:
                return (q @ k / 8).softmax(-1) @ v
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def attend(
                q: Annotated[Tensor, "b t d"],
                k: Annotated[Tensor, "b s d"],
                v: Annotated[Tensor, "b s e"],
            ) -> Annotated[Tensor, "b t e"]:
                return (q @ k.mT / 8).softmax(-1) @ v
            """,
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def project(x: Annotated[Tensor, "n d"], weight: Annotated[Tensor, "d k"]) -> Tensor:
                y = x @ (weight * 2).mT
                return y + x @ weight.T
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def project(x: Annotated[Tensor, "n d"], weight: Annotated[Tensor, "d k"]) -> Tensor:
                y = x @ (weight * 2)
                return y + x @ weight
            """,
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def project(
                x: Annotated[Tensor, "batch dim"], weight: Annotated[Tensor, "dim hidden"]
            ) -> Tensor:
                return x @ weight.transpose(0, 1)
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def project(
                x: Annotated[Tensor, "batch dim"], weight: Annotated[Tensor, "dim hidden"]
            ) -> Tensor:
                return x @ weight
            """,
        ),
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def project(x: Annotated[Tensor, "n d"], weight: Annotated[Tensor, "k d"]) -> Tensor:
                return torch.einsum("nd,dk->nk", x, weight)
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def project(x: Annotated[Tensor, "n d"], weight: Annotated[Tensor, "k d"]) -> Tensor:
                return torch.einsum("nd,dk->nk", x, weight.mT)
            """,
        ),
    ),
)
def transpose_factor(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Transposes the factor of a product whose other matrix dim is the one to contract."""
    facts = finding.facts
    if facts is None or not is_product(facts, site):
        return
    first, second = facts.operands
    if (
        first.names is None
        or second.names is None
        or min(map(len, (first.names, second.names))) < 2
    ):
        return
    if second.names[-1] == first.names[-1] is not None:
        yield from transposed(second, site)
    if first.names[-2] == second.names[-2] is not None:
        yield from transposed(first, site)
