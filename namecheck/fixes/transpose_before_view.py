"""Transposes before a view, so that the dims to merge are adjacent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from namecheck.core.findings import Edit, Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.calls import COPYING
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC115",
    safety=Safety.NEVER,
    precedence=20,
    searches=True,
    examples=(
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def merge_heads(
                x: Annotated[Tensor, "batch heads seq dim"],
            ) -> Annotated[Tensor, "batch seq heads*dim"]:
                batch, heads, seq, dim = x.shape
                return x.view(batch, seq, heads * dim)
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def merge_heads(
                x: Annotated[Tensor, "batch heads seq dim"],
            ) -> Annotated[Tensor, "batch seq heads*dim"]:
                batch, heads, seq, dim = x.shape
                return x.transpose(1, 2).reshape(batch, seq, heads * dim)
            """,
        ),
    ),
)
def transpose_before_view(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Makes the dims to merge adjacent before the view: `.transpose()`."""
    call, operands = site.expression(finding.span), finding.facts.operands if finding.facts else ()
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    names = operands[0].names if operands else None
    function = call.func
    for i, j in combinations(range(len(names or ())), 2):
        ending = f".transpose({i}, {j})"
        name = COPYING.get(function.attr, function.attr)
        at = site.source.span(function).tail(len(function.attr))
        edits = (*site.behind(function.value, ending), Edit(at, name))
        yield Proposal(f"Make the dims to merge adjacent: `{ending}`.", edits)
