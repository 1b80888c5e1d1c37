"""Copies a tensor to the CPU before NumPy reads it."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.devices import WITHOUT_DATA


@fix(
    "NC403",
    safety=Safety.ALWAYS,
    examples=(
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def mean(x: Annotated[Tensor, "n", torch.device("cuda")]) -> float:
                return float(x.mean().numpy())
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def mean(x: Annotated[Tensor, "n", torch.device("cuda")]) -> float:
                return float(x.mean().cpu().numpy())
            """,
            safe=True,
        ),
    ),
)
def copy_to_host(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Copies a tensor to the CPU before NumPy reads it: `.cpu()`.

    It is safe, because a tensor on the CPU is not copied.
    """
    operands = finding.facts.operands[:1] if finding.facts else ()
    for own in operands:
        node = site.expression(own.span)
        if node is not None and own.device not in WITHOUT_DATA:
            text = site.line(node)
            yield Proposal(f"Copy `{text}` to the CPU: `.cpu()`.", site.behind(node, ".cpu()"))
