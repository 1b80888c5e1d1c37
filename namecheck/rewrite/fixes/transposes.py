"""Operands whose last two dims are swapped: ``.mT``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.findings import Edit, Finding, Fix, Given
from namecheck.rewrite.sites import Site

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


def _transposed(given: Given, site: Site) -> Iterator[Fix]:
    node = site.expression(given.span)
    if node is None:
        return
    flat = given.names is not None and len(given.names) == 2
    if isinstance(node, ast.Attribute) and (node.attr == "mT" or (node.attr == "T" and flat)):
        yield from _as_it_was(node, site)
    else:
        text = " ".join(site.text(node).split())
        yield Fix(f"Transpose `{text}`: `.mT`.", False, site.behind(node, ".mT"))


def _as_it_was(node: ast.Attribute, site: Site) -> Iterator[Fix]:
    """The expression without the transposition that ends it."""
    ending, text = f".{node.attr}", site.text(node)
    if text.endswith(ending):
        at = site.source.span(node).tail(len(ending))
        told = " ".join(text.removesuffix(ending).split())
        yield Fix(f"Do not transpose `{told}`.", False, (Edit(at, ""),))
