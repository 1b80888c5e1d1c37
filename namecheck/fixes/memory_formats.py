"""Memory formats that are there for another number of dims."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import Edit, Finding, Fix
from namecheck.editing.sites import Site

_OTHER: Final = {"channels_last": "channels_last_3d", "channels_last_3d": "channels_last"}


def of_rank(finding: Finding, site: Site) -> Iterator[Fix]:
    """Writes the memory format that is there for so many dims: `torch.channels_last_3d`."""
    call = site.expression(finding.span)
    if not isinstance(call, ast.Call):
        return
    for node in [*call.args, *(word.value for word in call.keywords)]:
        if isinstance(node, ast.Attribute) and node.attr in _OTHER:
            other = _OTHER[node.attr]
            at = site.source.span(node).tail(len(node.attr))
            yield Fix(f"Replace `{node.attr}` by `{other}`.", False, (Edit(at, other),))
