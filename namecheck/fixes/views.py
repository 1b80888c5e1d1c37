"""Views that cannot be had, and views that scramble what is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from namecheck.core.findings import Edit, Finding, Fix
from namecheck.editing.sites import Site

_COPYING: Final = {"view": "reshape", "view_as": "reshape_as"}


def reshaped(finding: Finding, site: Site) -> Iterator[Fix]:
    """Writes `reshape` for `view`: it copies where it must, and else gives the same view."""
    call = site.expression(finding.span)
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in _COPYING:
        name = _COPYING[function.attr]
        at = site.source.span(function).tail(len(function.attr))
        yield Fix(f"Replace `{function.attr}` by `{name}`.", True, (Edit(at, name),))


def transposed_behind(finding: Finding, site: Site) -> Iterator[Fix]:
    """Cuts a dim up where it is, and brings its parts into the order asked for: `.transpose()`."""
    call = site.expression(finding.span)
    sizes = _sizes(call)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    for i, j in combinations(range(len(sizes)), 2):
        first, second = site.text(sizes[i]), site.text(sizes[j])
        ending = f".transpose({i}, {j})"
        swapped = site.replaced(sizes[i], second), site.replaced(sizes[j], first)
        done = site.written_behind(call, ending)
        told = f"then swap them: `{ending}`" if done is None else "and do not swap them"
        behind = site.behind(call, ending) if done is None else (Edit(done, ""),)
        yield Fix(f"Take the dims in their order, {told}.", False, (*swapped, *behind))


def transposed_before(finding: Finding, site: Site) -> Iterator[Fix]:
    """Brings the dims that are to be merged side by side before: `.transpose()`."""
    call, given = site.expression(finding.span), finding.facts.given if finding.facts else ()
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    names = given[0].names if given else None
    function = call.func
    for i, j in combinations(range(len(names or ())), 2):
        ending = f".transpose({i}, {j})"
        name = _COPYING.get(function.attr, function.attr)
        at = site.source.span(function).tail(len(function.attr))
        edits = (*site.behind(function.value, ending), Edit(at, name))
        yield Fix(f"Bring what is merged side by side: `{ending}`.", False, edits)


def _sizes(call: ast.expr | None) -> list[ast.expr]:
    """The sizes that a view is asked for, as they are written; none that must keep their order."""
    if not isinstance(call, ast.Call) or call.keywords:
        return []
    written = call.args
    if len(written) == 1 and isinstance(written[0], (ast.Tuple, ast.List)):
        written = written[0].elts
    fixed = (ast.Starred, ast.NamedExpr, ast.Await)
    moves = not any(isinstance(inner, fixed) for size in written for inner in ast.walk(size))
    return written if moves else []
