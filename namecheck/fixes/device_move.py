"""Moves an operand from the CPU to the device of the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.devices import operands_on_host


@fix(
    "NC401",
    safety=Safety.NEVER,
    precedence=20,
    examples=(
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def shift(
                x: Annotated[Tensor, "n c", torch.device("cuda")],
                by: Annotated[Tensor, "c", torch.device("cpu")],
            ) -> Tensor:
                return x + 2 * by
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def shift(
                x: Annotated[Tensor, "n c", torch.device("cuda")],
                by: Annotated[Tensor, "c", torch.device("cpu")],
            ) -> Tensor:
                return x + (2 * by).to(x.device)
            """,
        ),
    ),
)
def move_to_device(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Moves the operand that is on the CPU to the device of the other: `.to(x.device)`."""
    for node, device in operands_on_host(finding, site):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".cpu", ".to")):
            continue  # it was moved there deliberately
        call = f".to({device})"
        text = site.line(node)
        yield Proposal(f"Move `{text}`: `{call}`.", site.behind(node, call))
