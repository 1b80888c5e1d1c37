"""Splits dims in place by a view, and transposes afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from namecheck.core.findings import Edit, Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC115",
    safety=Safety.NEVER,
    precedence=10,
    searches=True,
    examples=(
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def split_heads(
                x: Annotated[Tensor, "batch seq heads*dim"], heads: int
            ) -> Annotated[Tensor, "batch heads seq dim"]:
                batch, seq, width = x.shape
                return x.view(batch, heads, seq, width // heads)
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def split_heads(
                x: Annotated[Tensor, "batch seq heads*dim"], heads: int
            ) -> Annotated[Tensor, "batch heads seq dim"]:
                batch, seq, width = x.shape
                return x.view(batch, seq, heads, width // heads).transpose(1, 2)
            """,
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def unflatten(
                x: Annotated[Tensor, "batch*time chan"], time: int
            ) -> Annotated[Tensor, "batch time chan"]:
                rows, chan = x.shape
                return x.reshape(time, rows // time, chan).transpose(0, 1)
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def unflatten(
                x: Annotated[Tensor, "batch*time chan"], time: int
            ) -> Annotated[Tensor, "batch time chan"]:
                rows, chan = x.shape
                return x.reshape(rows // time, time, chan)
            """,
        ),
    ),
)
def transpose_after_view(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Splits a dim in place, then brings the parts into the requested order: `.transpose()`."""
    call = site.expression(finding.span)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    sizes = _sizes(call)
    for i, j in combinations(range(len(sizes)), 2):
        first, second = site.text(sizes[i]), site.text(sizes[j])
        ending = f".transpose({i}, {j})"
        swapped = site.replaced(sizes[i], second), site.replaced(sizes[j], first)
        there = site.written_behind(call, ending)
        then = f"then swap them: `{ending}`" if there is None else "and do not swap them"
        behind = site.behind(call, ending) if there is None else (Edit(there, ""),)
        yield Proposal(f"Take the dims in their order, {then}.", (*swapped, *behind))


def _sizes(call_node: ast.Call) -> list[ast.expr]:
    """The size arguments of a view, as source; none if they must keep their order."""
    if call_node.keywords:
        return []
    sizes = call_node.args
    if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    fixed = (ast.Starred, ast.NamedExpr, ast.Await)
    moves = not any(isinstance(inner, fixed) for size in sizes for inner in ast.walk(size))
    return sizes if moves else []
