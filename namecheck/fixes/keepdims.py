"""A reduction whose dim is kept, so that what it gives can be broadcast against its input."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations
from typing import Final

from namecheck.core.findings import Edit, Finding, Fix, Given, is_of_sizes
from namecheck.editing.sites import Site

_OF_SQUARES: Final = "NC602"
_KEEPDIM: Final = "keepdim"
_HOPS: Final = 3


def kept(finding: Finding, site: Site) -> Iterator[Fix]:
    """Keeps the dim where a reduction makes an operand that has lost it: `keepdim=True`."""
    given = finding.facts.given if finding.facts else ()
    settled = finding.facts is not None and finding.facts.settled
    by_names = not is_of_sizes(finding.code) and all(operand.labelled for operand in given)
    safe = settled and by_names
    told = finding.code == _OF_SQUARES
    reductions = dict.fromkeys(_told(finding, site) if told else _of_operands(given, site))
    for call in reductions:
        edit = _kept(call, site)
        if edit is not None:
            yield Fix(f"Keep the dim that `{_short(call)}` reduces.", safe, (edit,))


def _of_operands(given: tuple[Given, ...], site: Site) -> Iterator[ast.Call]:
    for own, other in permutations(given, 2):
        node = site.expression(own.span)
        if node is not None and _lacks_dims(own, other):
            found = list(_reductions(node, site, _HOPS))
            if len(found) == 1:
                yield found[0]


def _lacks_dims(own: Given, other: Given) -> bool:
    """Whether an operand has some of the names of another, and not all of its dims."""
    if own.names is None or other.names is None or len(own.names) >= len(other.names):
        return False
    return set(own.names) <= set(other.names)


def _told(finding: Finding, site: Site) -> Iterator[ast.Call]:
    """The reduction that a lint points to."""
    for place in finding.related:
        node = site.expression(place.span)
        if place.filename == finding.filename and isinstance(node, ast.Call):
            yield from [node] if _reduces(node, site) else ()


def _reductions(node: ast.expr, site: Site, hops: int) -> Iterator[ast.Call]:
    """The reductions in an expression, and in what the variables in it were given for it alone."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and _reduces(inner, site):
            yield inner
        elif isinstance(inner, ast.Name) and hops:
            value = site.assigned(inner)
            if value is not None:
                yield from _reductions(value, site, hops - 1)


def _reduces(call: ast.Call, site: Site) -> bool:
    """Whether a call has dims to reduce, by its name and its arguments."""
    name = _short(call)
    row = site.row(name)
    keeps = row is not None and any(_KEEPDIM in line for line in row.params)
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    spread = any(keyword.arg is None for keyword in call.keywords)
    return keeps and bool(call.args or call.keywords) and not starred and not spread


def _short(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _kept(call: ast.Call, site: Site) -> Edit | None:
    for keyword in call.keywords:
        if keyword.arg in (_KEEPDIM, "keepdims"):
            if isinstance(keyword.value, ast.Constant) and keyword.value.value is False:
                return site.replaced(keyword.value, "True")
            return None
    return site.argument(call, f"{_KEEPDIM}=True")[0]
