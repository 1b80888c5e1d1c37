"""``reshape`` in place of a ``view`` that cannot be had."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.findings import Edit, Finding, Fix
from namecheck.rewrite.sites import Site

_COPYING: Final = {"view": "reshape", "view_as": "reshape_as"}


def reshaped(finding: Finding, site: Site) -> Iterator[Fix]:
    """Writes `reshape` for `view`: it copies where it must, and else gives the same view."""
    call = site.expression(finding.span)
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in _COPYING:
        name = _COPYING[function.attr]
        at = site.source.span(function).tail(len(function.attr))
        yield Fix(f"Replace `{function.attr}` by `{name}`.", True, (Edit(at, name),))
