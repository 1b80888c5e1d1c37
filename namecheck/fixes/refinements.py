"""Names that a tensor is given before it is written to in place, or aligned."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from namecheck.core.findings import Finding, Fix
from namecheck.editing.sites import Site, is_stable, quoted


def refined(finding: Finding, site: Site) -> Iterator[Fix]:
    """Refines the names of what is written to, where it lacks names that the result has."""
    facts = finding.facts
    if facts is None or len(facts.given) < 2 or not _is_in_place(facts.operator):
        return
    receiver, *others = facts.given
    target = site.expression(receiver.span)
    if target is None or not is_stable(target) or receiver.names is None:
        return
    names: Sequence[str | None] | None = receiver.names
    for other in others:
        names = _unified(names, other.names)
    if names is None or names == receiver.names:
        return
    words = ", ".join("None" if name is None else quoted(name) for name in names)
    text = site.text(target)
    edits = site.line_before(target, f"{text} = {text}.refine_names({words})")
    if edits and isinstance(site.statement(target), (ast.AugAssign, ast.Expr)):
        yield Fix(f"Refine the names of `{text}` before it is written to.", facts.settled, edits)


def completed(finding: Finding, site: Site) -> Iterator[Fix]:
    """Names the one dim without a name like the one name that it is to be aligned to."""
    call, facts = site.expression(finding.span), finding.facts
    if facts is None or not facts.given or not isinstance(call, ast.Call):
        return
    receiver, *others = facts.given
    node, known = site.expression(receiver.span), receiver.names
    if node is None or known is None or list(known).count(None) != 1:
        return
    asked = [name for other in others for name in other.names or ()]
    asked += [str(string.value) for string in site.strings(call)]
    missing = {name for name in asked if name is not None} - set(known)
    if len(missing) == 1:
        [name] = missing
        words = ", ".join(quoted(one or name, site.quote(node)) for one in known)
        refining = f".refine_names({words})"
        text = site.line(node)
        yield Fix(f"Name all dims of `{text}`: `{refining}`.", False, site.behind(node, refining))


def _is_in_place(operator: str) -> bool:
    return operator.endswith("_") or operator.startswith("__i")


def _unified(
    names: Sequence[str | None] | None, others: Sequence[str | None] | None
) -> tuple[str | None, ...] | None:
    """The names of a tensor filled in from another's; None where they differ, or do not fit."""
    if names is None or others is None or len(others) > len(names):
        return None
    padded = (*[None] * (len(names) - len(others)), *others)
    if any(a and b and a != b for a, b in zip(names, padded, strict=True)):
        return None
    return tuple(a or b for a, b in zip(names, padded, strict=True))
