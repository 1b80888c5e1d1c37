"""Swaps the last two dims of an operand: ``.mT``, or removes the swap at its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.findings import Edit, Facts, OperandFacts
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Proposal


def is_product(facts: Facts, site: Site) -> bool:
    """Whether a finding is about the contraction of two tensors."""
    row = site.row(facts.operator)
    return row is not None and row.flow == "contracts" and len(facts.operands) == 2


def transposed(own: OperandFacts, site: Site) -> Iterator[Proposal]:
    """Swap the last two dims of an operand."""
    node = site.expression(own.span)
    if node is None:
        return
    if _ends_transposed(node, len(own.names or ())):
        yield from _without_swap(node, site)
    else:
        text = site.line(node)
        yield Proposal(f"Transpose `{text}`: `.mT`.", site.behind(node, ".mT"))


def _ends_transposed(expression: ast.expr, rank: int) -> bool:
    """Whether the last operation of an expression swaps its last two dims."""
    if isinstance(expression, ast.Attribute):
        return expression.attr == "mT" or (expression.attr == "T" and rank == 2)
    if (
        not isinstance(expression, ast.Call)
        or not isinstance(expression.func, ast.Attribute)
        or expression.keywords
    ):
        return False
    if expression.func.attr == "t":
        return not expression.args
    last = {str(rank - 1): "-1", str(rank - 2): "-2"}
    dims = [last.get(word, word) for word in map(ast.unparse, expression.args)]
    return expression.func.attr == "transpose" and sorted(dims) == ["-1", "-2"]


def _without_swap(expression: ast.expr, site: Site) -> Iterator[Proposal]:
    """The expression without the transposition at its end."""
    ending = site.ending(expression)
    if ending is not None:
        rest = " ".join(site.text(expression).removesuffix(site.source.segment(ending)).split())
        yield Proposal(f"Do not transpose `{rest}`.", (Edit(ending, ""),))
