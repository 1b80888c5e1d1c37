"""Replaces a memory format by that for the tensor's number of dims."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import Edit, Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix

_OTHER: Final = {"channels_last": "channels_last_3d", "channels_last_3d": "channels_last"}


@fix(
    "NC502",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def prepare(x: Annotated[Tensor, "n c d h w"]) -> Tensor:
                return x.contiguous(memory_format=torch.channels_last)
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def prepare(x: Annotated[Tensor, "n c d h w"]) -> Tensor:
                return x.contiguous(memory_format=torch.channels_last_3d)
            """,
        ),
    ),
)
def take_format_of_rank(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Writes the memory format for this number of dims: `torch.channels_last_3d`."""
    call = site.expression(finding.span)
    if not isinstance(call, ast.Call):
        return
    for node in [*call.args, *(keyword.value for keyword in call.keywords)]:
        if isinstance(node, ast.Attribute) and node.attr in _OTHER:
            right = _OTHER[node.attr]
            at = site.source.span(node).tail(len(node.attr))
            yield Proposal(f"Replace `{node.attr}` by `{right}`.", (Edit(at, right),))
