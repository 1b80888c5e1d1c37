"""Refines the names of a tensor before it is written to in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site, is_stable, quoted
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC110",
    safety=Safety.SETTLED,
    examples=(
        Example(
            """
            import torch

            total = torch.zeros(2, 3, names=(None, "C"))
            if total.numel():
                total += torch.rand(2, 3, names=("N", "C"))
            print(total.names)
            """,
            """
            import torch

            total = torch.zeros(2, 3, names=(None, "C"))
            if total.numel():
                total = total.refine_names("N", "C")
                total += torch.rand(2, 3, names=("N", "C"))
            print(total.names)
            """,
            safe=True,
            semantics="torch-2.12",
        ),
    ),
)
def refine_before_writing(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Refines the names of a tensor that is written to, if it lacks names of the result."""
    facts = finding.facts
    if facts is None or len(facts.operands) < 2 or not _is_in_place(facts.operator):
        return
    receiver, *others = facts.operands
    target = site.expression(receiver.span)
    if target is None or not is_stable(target) or receiver.names is None:
        return
    refined: tuple[str | None, ...] | None = receiver.names
    for operand in others:
        refined = _unified(refined, operand.names)
    if refined is None or refined == receiver.names:
        return
    words = ", ".join("None" if name is None else quoted(name) for name in refined)
    text = site.text(target)
    edits = site.line_before(target, f"{text} = {text}.refine_names({words})")
    if edits and isinstance(site.statement(target), (ast.AugAssign, ast.Expr)):
        yield Proposal(f"Refine the names of `{text}` before it is written to.", edits)


def _is_in_place(operator: str) -> bool:
    return operator.endswith("_") or operator.startswith("__i")


def _unified(
    names_of_target: tuple[str | None, ...] | None, names_of_operand: tuple[str | None, ...] | None
) -> tuple[str | None, ...] | None:
    """The names of a tensor, completed from another's; None where they differ, or do not fit."""
    if (
        names_of_target is None
        or names_of_operand is None
        or len(names_of_operand) > len(names_of_target)
    ):
        return None
    padded = (*[None] * (len(names_of_target) - len(names_of_operand)), *names_of_operand)
    if any(a and b and a != b for a, b in zip(names_of_target, padded, strict=True)):
        return None
    return tuple(a or b for a, b in zip(names_of_target, padded, strict=True))
