"""Operands whose last two dims are swapped: ``.mT``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Final

from namecheck.core.findings import Edit, Finding, Fix, Given
from namecheck.editing.sites import Site, quoted

_RANK: Final = 4
_PRODUCTS: Final = frozenset({"matmul", "mm", "bmm"})


def of_products(finding: Finding, site: Site) -> Iterator[Fix]:
    """Transposes the one factor of a product whose other matrix dim is the one that is summed."""
    facts = finding.facts
    if facts is None or facts.operator not in _PRODUCTS or len(facts.given) != 2:
        return
    left, right = facts.given
    if left.names is None or right.names is None or min(len(left.names), len(right.names)) < 2:
        return
    if right.names[-1] == left.names[-1] is not None:
        yield from _transposed(right, site)
    if left.names[-2] == right.names[-2] is not None:
        yield from _transposed(left, site)


def of_sums(finding: Finding, site: Site) -> Iterator[Fix]:
    """Transposes the second of two operands that have the same last two dims in another order."""
    facts = finding.facts
    if facts is None or facts.operator in _PRODUCTS or len(facts.given) != 2:
        return
    first, second = facts.given
    if not first.names or second.names is None or len(second.names) < 2 or second.labelled:
        return
    swapped = (*second.names[:-2], second.names[-1], second.names[-2])
    if first.names[-len(swapped) :] == swapped:
        yield from _transposed(second, site)


def of_arguments(finding: Finding, site: Site) -> Iterator[Fix]:
    """Brings the dims of an argument into the order that is declared: `.align_to()`, `.mT`."""
    for given in finding.facts.given if finding.facts else ():
        node, names = site.expression(given.span), given.names or ()
        if node is None or not 2 <= len(names) <= _RANK:
            continue
        text = site.line(node)
        for order in _orders(given, site.quote(node)):
            yield Fix(f"Reorder the dims of `{text}`: `{order}`.", False, site.behind(node, order))


def _orders(given: Given, quote: str) -> Iterator[str]:
    """The ways to bring the dims of a tensor into another order: by their labels, or two alone."""
    names = given.names or ()
    if given.labelled:
        for order in permutations(names):
            if order != names and None not in order:
                yield f".align_to({', '.join(quoted(str(name), quote) for name in order)})"
        return
    for i, j in combinations(range(len(names)), 2):
        yield ".mT" if i == len(names) - 2 else f".transpose({i}, {j})"


def _transposed(given: Given, site: Site) -> Iterator[Fix]:
    node = site.expression(given.span)
    if node is None:
        return
    if _ends_transposed(node, len(given.names or ())):
        yield from _as_it_was(node, site)
    else:
        text = site.line(node)
        yield Fix(f"Transpose `{text}`: `.mT`.", False, site.behind(node, ".mT"))


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


def _as_it_was(node: ast.expr, site: Site) -> Iterator[Fix]:
    """The expression without the transposition that ends it."""
    ending = site.ending(node)
    if ending is not None:
        told = " ".join(site.text(node).removesuffix(site.source.segment(ending)).split())
        yield Fix(f"Do not transpose `{told}`.", False, (Edit(ending, ""),))
