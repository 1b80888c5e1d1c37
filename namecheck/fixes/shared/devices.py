"""Operands on the CPU while another operand is on another device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations
from typing import Final

from namecheck.core.findings import Finding, OperandFacts
from namecheck.editing.sites import Site, is_stable

HOST: Final = "cpu"
WITHOUT_DATA: Final = ("", "meta", HOST)
"""Devices that are no target of a move: an unknown one, ``meta``, and the CPU itself."""


def operands_on_host(finding: Finding, site: Site) -> Iterator[tuple[ast.expr, str]]:
    """The operands on the CPU, each with the source for the other operand's device."""
    operands = finding.facts.operands if finding.facts else ()
    yielded: set[OperandFacts] = set()
    for own, model in permutations(operands, 2):
        node, other = site.expression(own.span), site.expression(model.span)
        if node is None or other is None or own in yielded or not is_stable(other):
            continue
        elsewhere = model.device not in WITHOUT_DATA and " or " not in model.device
        if own.device == HOST and elsewhere:
            yielded.add(own)
            yield node, f"{site.text(other)}.device"
