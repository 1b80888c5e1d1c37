"""Operands of a broadcast that are lined up: by their labels, or by new dims of size 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations
from typing import Final

from namecheck.core.findings import Edit, Finding, Fix, Given
from namecheck.editing.sites import Site, is_stable, quoted

_BROADCASTS: Final = ("unifies", "where", "lerp", "masked_fill", "clamp", "addc")
_JOINS: Final = ("cat", "stack", "hstack", "vstack", "dstack")


def aligned(finding: Finding, site: Site) -> Iterator[Fix]:
    """Lines an operand up with another that has all of its names: `align_as`, or `[:, None]`."""
    operands = _operands(finding, site)
    tried: set[tuple[Given, object]] = set()
    for own, other in permutations(sorted(operands, key=lambda one: not _is_stable(one, site)), 2):
        if own.names is None or other.names is None or len(own.names) >= len(other.names):
            continue
        if (own, other.names) in tried:  # of those that are alike one will do
            continue
        tried.add((own, other.names))
        if own.labelled and other.labelled:
            safe = finding.facts is not None and finding.facts.settled
            yield from _by_labels(own, other, site, safe=safe)
        else:
            yield from _by_new_dims(own, other, site)


def reordered(finding: Finding, site: Site) -> Iterator[Fix]:
    """Gives the second of two operands with the same labels the order of the first."""
    operands = _operands(finding, site, _BROADCASTS + _JOINS)
    for first, other in pairwise(operands):
        if first.names is None or other.names is None or not first.labelled:
            continue
        if sorted(map(str, first.names)) == sorted(map(str, other.names)):
            yield from _by_labels(other, first, site, safe=False)


def extended(finding: Finding, site: Site) -> Iterator[Fix]:
    """Gives the dim that it lacks to a tensor that is put together with others: `[None]`."""
    for own, other in permutations(_operands(finding, site, _JOINS), 2):
        node = site.expression(own.span)
        if node is None or own.names is None or other.names is None:
            continue
        if len(own.names) + 1 == len(other.names):
            for place in range(len(other.names)):
                if own.names == (*other.names[:place], *other.names[place + 1 :]):
                    index = f"[{', '.join([*[':'] * place, 'None'])}]"
                    edits = site.behind(node, index)
                    yield _behind(f"Give `{site.text(node)}` the dim it lacks", edits, index, False)


def _operands(
    finding: Finding, site: Site, rules: tuple[str, ...] = _BROADCASTS
) -> Sequence[Given]:
    """The tensors that were broadcast; none where the operator does something else."""
    facts = finding.facts
    row = site.row(facts.operator) if facts else None
    return facts.given if facts and row is not None and row.names.startswith(rules) else ()


def _is_stable(given: Given, site: Site) -> bool:
    node = site.expression(given.span)
    return node is not None and is_stable(node)


def _by_labels(own: Given, other: Given, site: Site, *, safe: bool) -> Iterator[Fix]:
    node, model = site.expression(own.span), site.expression(other.span)
    if node is None or model is None or own.names is None or other.names is None:
        return
    if None in own.names or not set(own.names) <= set(other.names):
        return
    if is_stable(model):
        call = f".align_as({site.text(model)})"
    elif None not in other.names:
        quote = site.quote(node)
        call = f".align_to({', '.join(quoted(str(name), quote) for name in other.names)})"
    else:
        return
    edits = _in_place_of_another(node, call, site) or site.behind(node, call)
    yield _behind(f"Align `{site.text(node)}` by its names", edits, call, safe)


def _in_place_of_another(node: ast.expr, call: str, site: Site) -> tuple[Edit, ...]:
    """The edit that puts an alignment in place of one that ends an expression."""
    ending = site.ending(node)
    if ending is None:
        return ()
    aligns = site.source.segment(ending).startswith((".align_as(", ".align_to("))
    return (Edit(ending, call),) if aligns else ()


def _by_new_dims(own: Given, other: Given, site: Site) -> Iterator[Fix]:
    """All ways to lay the dims of one along dims of the other that have their names."""
    node = site.expression(own.span)
    if node is None or own.names is None or other.names is None or None in own.names:
        return
    ways = [
        places
        for places in combinations(range(len(other.names)), len(own.names))
        if all(other.names[place] == name for place, name in zip(places, own.names, strict=True))
    ]
    for places in ways:
        new = [place not in places for place in range(min(places, default=0), len(other.names))]
        if any(new):
            index = f"[{', '.join('None' if one else ':' for one in new)}]"
            edits = site.behind(node, index)
            yield _behind(f"Give `{site.text(node)}` the dims it lacks", edits, index, False)


def _behind(what: str, edits: tuple[Edit, ...], text: str, safe: bool) -> Fix:
    return Fix(f"{' '.join(what.split())}: `{text}`.", safe, edits)
