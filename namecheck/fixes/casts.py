"""Operands that must have one dtype: the vaguer one is cast to that of the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from namecheck.core.dtypes import KINDS
from namecheck.core.findings import Finding, Fix
from namecheck.editing.sites import Site


def cast(finding: Finding, site: Site) -> Iterator[Fix]:
    """Casts the operand of the lower kind, as integers are than floats: `.to(torch.float32)`."""
    given = finding.facts.given if finding.facts else ()
    for own, other in permutations(given, 2):
        node = site.expression(own.span)
        if node is None or own.dtype not in KINDS or other.dtype not in KINDS:
            continue
        if KINDS[own.dtype].category < KINDS[other.dtype].category:
            call = f".to(torch.{other.dtype})"
            text = site.line(node)
            yield Fix(f"Cast `{text}`: `{call}`.", False, site.behind(node, call))
