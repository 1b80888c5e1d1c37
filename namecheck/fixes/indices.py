"""An index in place of a dim's name, where native torch takes nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from namecheck.core.findings import Finding, Fix
from namecheck.editing.sites import Site


def in_place_of_names(finding: Finding, site: Site) -> Iterator[Fix]:
    """Gives the index of a dim in place of its name."""
    call, facts = site.expression(finding.span), finding.facts
    if not isinstance(call, ast.Call) or facts is None or not facts.given:
        return
    names = facts.given[0].names or ()
    written = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg != "names")]
    strings = [
        (string, word)
        for argument in written
        for string in _strings(argument, site)
        if isinstance(word := string.value, str) and word in names
    ]
    if strings:
        told = ", ".join(f"'{word}'" for _, word in strings)
        edits = tuple(site.replaced(string, str(names.index(word))) for string, word in strings)
        yield Fix(f"Give the index of {told}.", facts.settled, edits)


def _strings(argument: ast.expr, site: Site) -> Iterable[ast.Constant]:
    return [argument] if isinstance(argument, ast.Constant) else site.strings(argument)
