"""Brings the output letters of an einsum into the declared order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations
from typing import Final

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.calls import called_name
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix

_LETTERS: Final = 4


@fix(
    "NC112",
    safety=Safety.NEVER,
    precedence=80,
    searches=True,
    examples=(
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def scores(
                q: Annotated[Tensor, "batch query dim"], k: Annotated[Tensor, "batch key dim"]
            ) -> Annotated[Tensor, "batch query key"]:
                return torch.einsum("bqd,bkd->bkq", q, k)
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def scores(
                q: Annotated[Tensor, "batch query dim"], k: Annotated[Tensor, "batch key dim"]
            ) -> Annotated[Tensor, "batch query key"]:
                return torch.einsum("bqd,bkd->bqk", q, k)
            """,
        ),
    ),
)
def reorder_output(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Brings the output of an einsum into the declared order."""
    call = site.value(site.expression(finding.span))
    equation = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if not isinstance(call, ast.Call) or called_name(call) != "einsum":
        return
    if not isinstance(equation, ast.Constant) or not isinstance(equation.value, str):
        return
    text = site.text(equation)
    operands, arrow, output = text.rstrip("\"'").rpartition("->")
    letters = output.strip()
    if arrow and letters.isalpha() and len(letters) <= _LETTERS:
        for order in map("".join, permutations(letters)):
            if order != letters:
                fresh = f"{operands}->{output.replace(letters, order)}{text[-1]}"
                edit = site.replaced(equation, fresh)
                yield Proposal(f"Leave the dims in the order `{order}`.", (edit,))
