"""Creates a tensor on the device of the other operand, instead of on the CPU."""

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
    precedence=10,
    examples=(
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def shift(x: Annotated[Tensor, "n c", torch.device("cuda")]) -> Tensor:
                steps = torch.arange(3)
                return x + steps
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def shift(x: Annotated[Tensor, "n c", torch.device("cuda")]) -> Tensor:
                steps = torch.arange(3, device=x.device)
                return x + steps
            """,
        ),
    ),
)
def make_on_device(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Creates a new operand on the device of the other: `device=x.device`."""
    for node, device in operands_on_host(finding, site):
        call = site.value(node)
        if isinstance(call, ast.Call) and _makes(call, site):
            text = f"device={device}"
            message = f"Make it where the other is: `{text}`."
            yield Proposal(message, site.argument(call, text))


def _makes(call_node: ast.Call, site: Site) -> bool:
    """Whether a call creates a tensor and accepts a device, but passes none."""
    row = site.row(ast.unparse(call_node.func).removeprefix("torch."))
    has_device = any(keyword.arg in ("device", None) for keyword in call_node.keywords)
    takes = row is not None and any(p.name == "device" for s in row.signatures for p in s)
    return takes and not has_device
