"""An operand whose last two dims are swapped: ``.mT``, or without the swap that ends it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import Edit, Given
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Proposal

PRODUCTS: Final = frozenset({"matmul", "mm", "bmm"})


def transposed(own: Given, site: Site) -> Iterator[Proposal]:
    """Swap the last two dims of an operand."""
    node = site.expression(own.span)
    if node is None:
        return
    if _ends_transposed(node, len(own.names or ())):
        yield from _without_swap(node, site)
    else:
        text = site.line(node)
        yield Proposal(f"Transpose `{text}`: `.mT`.", site.behind(node, ".mT"))


def _ends_transposed(node: ast.expr, rank: int) -> bool:
    """Whether the last thing that an expression does is to swap its last two dims."""
    if isinstance(node, ast.Attribute):
        return node.attr == "mT" or (node.attr == "T" and rank == 2)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.keywords:
        return False
    if node.func.attr == "t":
        return not node.args
    last = {str(rank - 1): "-1", str(rank - 2): "-2"}
    dims = [last.get(word, word) for word in map(ast.unparse, node.args)]
    return node.func.attr == "transpose" and sorted(dims) == ["-1", "-2"]


def _without_swap(node: ast.expr, site: Site) -> Iterator[Proposal]:
    """The expression without the transposition that ends it."""
    ending = site.ending(node)
    if ending is not None:
        rest = " ".join(site.text(node).removesuffix(site.source.segment(ending)).split())
        yield Proposal(f"Do not transpose `{rest}`.", (Edit(ending, ""),))
