"""Replaces an impossible view by a reshape."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.findings import Edit, Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.calls import COPYING
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC501",
    safety=Safety.ALWAYS,
    examples=(
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def attend(
                weights: Annotated[Tensor, "b h t s"], values: Annotated[Tensor, "b h s d"]
            ) -> Tensor:
                heads = weights @ values
                b, h, t, d = heads.shape
                return heads.transpose(1, 2).view(b, t, h * d)
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def attend(
                weights: Annotated[Tensor, "b h t s"], values: Annotated[Tensor, "b h s d"]
            ) -> Tensor:
                heads = weights @ values
                b, h, t, d = heads.shape
                return heads.transpose(1, 2).reshape(b, t, h * d)
            """,
            safe=True,
        ),
    ),
)
def reshape(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Writes `reshape` for `view`: it copies only if it must."""
    call = site.expression(finding.span)
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in COPYING:
        name = COPYING[function.attr]
        at = site.source.span(function).tail(len(function.attr))
        yield Proposal(f"Replace `{function.attr}` by `{name}`.", (Edit(at, name),))
