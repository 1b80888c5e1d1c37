"""A dim that an operator is told by its index, where another is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations
from typing import Final

from namecheck.core.findings import Finding, Fix
from namecheck.editing.sites import Site

_OF_SOFTMAX: Final = "NC601"
_JOINS: Final = ("cat", "stack")
_RANK: Final = 5
_LETTERS: Final = 4


def another(finding: Finding, site: Site) -> Iterator[Fix]:
    """Takes another dim: the one that alone gives what is declared, or lets the tensors fit."""
    for call in _calls(finding, site):
        index = _dim(call, site)
        number = None if index is None else _number(index)
        if index is None or number is None:
            continue
        tried = range(-_RANK, 0) if number < 0 else range(_RANK)
        for other in tried:
            if other != number:
                text = site.line(call)
                edit = site.replaced(index, str(other))
                yield Fix(f"Take dim {other} in `{text}`.", False, (edit,))


def of_equations(finding: Finding, site: Site) -> Iterator[Fix]:
    """Gives what an einsum leaves the order that is declared."""
    call = _value(site.expression(finding.span), site)
    written = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if not isinstance(call, ast.Call) or _name(call) != "einsum":
        return
    if not isinstance(written, ast.Constant) or not isinstance(written.value, str):
        return
    text = site.text(written)
    left, arrow, right = text.rstrip("\"'").rpartition("->")
    letters = right.strip()
    if arrow and letters.isalpha() and len(letters) <= _LETTERS:
        for order in permutations(letters):
            other = "".join(order)
            if other != letters:
                edit = site.replaced(written, f"{left}->{right.replace(letters, other)}{text[-1]}")
                yield Fix(f"Leave the dims in the order `{other}`.", False, (edit,))


def _calls(finding: Finding, site: Site) -> Iterator[ast.Call]:
    """The calls whose dim may be another: what is found fault with, or the softmax before it.

    Where weights are summed over a dim that is told as well, either may be the wrong one.
    """
    facts = finding.facts
    if finding.code == _OF_SOFTMAX:
        summing = site.expression(finding.span)
        if isinstance(summing, ast.Call) and _dim(summing, site) is not None:
            return
        for place in finding.related:
            node = site.expression(place.span)
            if place.filename == finding.filename and isinstance(node, ast.Call):
                yield node
        return
    row = site.row(facts.operator) if facts and facts.operator else None
    if row is None or row.names in _JOINS:
        node = _value(site.expression(finding.span), site)
        if isinstance(node, ast.Call):
            yield node


def _value(node: ast.expr | None, site: Site) -> ast.expr | None:
    """An expression, or what a variable is given for this use alone."""
    return site.assigned(node) if isinstance(node, ast.Name) else node


def _dim(call: ast.Call, site: Site) -> ast.expr | None:
    """The argument of a call to an operator that tells its dim."""
    row = site.row(_name(call))
    if row is None or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    for keyword in call.keywords:
        if keyword.arg == "dim":
            return keyword.value
    names = [[p.name for p in signature] for signature in row.signatures]
    for signature in names:
        if "dim" in signature:
            place = signature.index("dim") - (not _is_function(call))
            return call.args[place] if 0 <= place < len(call.args) else None
    return None


def _is_function(call: ast.Call) -> bool:
    """Whether the tensors are all among the arguments: `torch.sum(x)`, not `x.sum()`."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return ast.unparse(function.value) in ("torch", "F", "torch.nn.functional", "nn.functional")
    return True


def _name(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
