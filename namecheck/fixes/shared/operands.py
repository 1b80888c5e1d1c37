"""Operands that must be aligned to be broadcast or concatenated, and their alignment by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from namecheck.core.findings import Edit, Finding, OperandFacts
from namecheck.editing.sites import Site, is_stable, quoted
from namecheck.fixes.shared.declaration import Proposal
from namecheck.rules.registry import NO_TRAITS, Traits, traits_of


def aligned_operands(finding: Finding, site: Site) -> Sequence[OperandFacts]:
    """The operands of an operator that aligns them dim by dim; none of another operator."""
    facts, traits = finding.facts, _traits(finding, site)
    return facts.operands if facts and traits.aligns else ()


def joined_operands(finding: Finding, site: Site) -> Sequence[OperandFacts]:
    """The tensors that an operator concatenates along a dim; none of another operator."""
    facts, traits = finding.facts, _traits(finding, site)
    return facts.operands if facts and traits.memory == "joins" else ()


def _traits(finding: Finding, site: Site) -> Traits:
    row = site.row(finding.facts.operator) if finding.facts else None
    return NO_TRAITS if row is None else traits_of(row.names)


def align_by_labels(
    own: OperandFacts, model: OperandFacts, site: Site, *, certain: bool
) -> Iterator[Proposal]:
    """Reorder an operand as another that has all of its names, by ``align_as``."""
    node, other = site.expression(own.span), site.expression(model.span)
    if node is None or other is None or own.names is None or model.names is None:
        return
    if None in own.names or not set(own.names) <= set(model.names):
        return
    if is_stable(other):
        call = f".align_as({site.text(other)})"
    elif None not in model.names:
        quote = site.quote(node)
        call = f".align_to({', '.join(quoted(str(name), quote) for name in model.names)})"
    else:
        return
    edits = _in_place_of_another(node, call, site) or site.behind(node, call)
    yield appended(f"Align `{site.text(node)}` by its names", edits, call, certain=certain)


def _in_place_of_another(expression: ast.expr, call: str, site: Site) -> tuple[Edit, ...]:
    """The edit that replaces the alignment at the end of an expression."""
    ending = site.ending(expression)
    if ending is None:
        return ()
    aligns = site.source.segment(ending).startswith((".align_as(", ".align_to("))
    return (Edit(ending, call),) if aligns else ()


def appended(what: str, insertion: tuple[Edit, ...], code: str, *, certain: bool) -> Proposal:
    """A proposal to append code to an operand."""
    return Proposal(f"{' '.join(what.split())}: `{code}`.", insertion, certain)
