"""Corrects a misspelt dtype, or replaces a string by a dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core import dtypes
from namecheck.core.findings import Edit, Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC306",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch

            x = torch.zeros(2, 3, names=("N", "C"), dtype=torch.float23)
            print(x.names)
            """,
            """
            import torch

            x = torch.zeros(2, 3, names=("N", "C"), dtype=torch.float32)
            print(x.names)
            """,
        ),
        Example(
            """
            import torch

            print(torch.zeros(2, 3, names=("N", "C"), dtype="float64").names)
            """,
            """
            import torch

            print(torch.zeros(2, 3, names=("N", "C"), dtype=torch.float64).names)
            """,
        ),
    ),
)
def spell_dtype(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Corrects a misspelt dtype, or replaces a string by the dtype that it names."""
    node = site.expression(finding.span)
    if isinstance(node, ast.Attribute):
        near = dtypes.nearest(node.attr)
        if near is not None:
            at = site.source.span(node).tail(len(node.attr))
            yield Proposal(f"Replace '{node.attr}' by '{near}'.", (Edit(at, near),))
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        value = keyword.value
        if keyword.arg == "dtype" and isinstance(value, ast.Constant):
            near = dtypes.nearest(str(value.value).removeprefix("torch."))
            if near is not None:
                edit = site.replaced(value, f"torch.{near}")
                yield Proposal(f"Give the dtype `torch.{near}`.", (edit,))
