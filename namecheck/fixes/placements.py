"""Operands that must be on one device, and tensors that NumPy is to see."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations
from typing import Final

from namecheck.core.findings import Finding, Fix
from namecheck.editing.sites import Site, is_stable

_HOST: Final = "cpu"
_NOWHERE: Final = ("", "meta", _HOST)


def made(finding: Finding, site: Site) -> Iterator[Fix]:
    """Makes an operand that is new where the other is: `device=x.device`."""
    for node, where in _apart(finding, site):
        call = site.assigned(node) if isinstance(node, ast.Name) else node
        if isinstance(call, ast.Call) and _makes(call, site):
            text = f"device={where}"
            yield Fix(f"Make it where the other is: `{text}`.", False, site.argument(call, text))


def moved(finding: Finding, site: Site) -> Iterator[Fix]:
    """Moves the operand that is on the CPU to the device of the other: `.to(x.device)`."""
    for node, where in _apart(finding, site):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".cpu", ".to")):
            continue  # it was moved there on purpose
        call = f".to({where})"
        text = site.line(node)
        yield Fix(f"Move `{text}`: `{call}`.", False, site.behind(node, call))


def to_host(finding: Finding, site: Site) -> Iterator[Fix]:
    """Copies a tensor to the CPU before NumPy sees it: `.cpu()`.

    It is safe, as what is there already is not copied.
    """
    given = finding.facts.given[:1] if finding.facts else ()
    for own in given:
        node = site.expression(own.span)
        if node is not None and own.device not in _NOWHERE:
            text = site.line(node)
            yield Fix(f"Copy `{text}` to the CPU: `.cpu()`.", True, site.behind(node, ".cpu()"))


def _apart(finding: Finding, site: Site) -> Iterator[tuple[ast.expr, str]]:
    """The operands that are on the CPU, each with how the device of another is written."""
    given = finding.facts.given if finding.facts else ()
    seen = set()
    for own, other in permutations(given, 2):
        node, model = site.expression(own.span), site.expression(other.span)
        if node is None or model is None or own in seen or not is_stable(model):
            continue
        if own.device == _HOST and other.device not in _NOWHERE and " or " not in other.device:
            seen.add(own)
            yield node, f"{site.text(model)}.device"


def _makes(call: ast.Call, site: Site) -> bool:
    """Whether a call makes a tensor on the device that it is told, and is told none."""
    name = ast.unparse(call.func).removeprefix("torch.")
    row = site.row(name)
    told = any(keyword.arg in ("device", None) for keyword in call.keywords)
    takes = row is not None and any(p.name == "device" for s in row.signatures for p in s)
    return takes and not told
