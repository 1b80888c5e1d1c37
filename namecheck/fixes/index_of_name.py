"""Replaces the name of a dim by its index, where native torch accepts no name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC114",
    safety=Safety.SETTLED,
    examples=(
        Example(
            """
            import torch

            x = torch.rand(2, 6, names=("N", "C"))
            print([part.names for part in x.chunk(3, dim="C")])
            """,
            """
            import torch

            x = torch.rand(2, 6, names=("N", "C"))
            print([part.names for part in x.chunk(3, dim=1)])
            """,
            safe=True,
            semantics="torch-2.12",
        ),
    ),
)
def give_index(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Replaces the name of a dim by its index."""
    call, facts = site.expression(finding.span), finding.facts
    if not isinstance(call, ast.Call) or facts is None or not facts.operands:
        return
    names = facts.operands[0].names or ()
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg != "names")]
    strings = [
        (string, word)
        for argument in values
        for string in _strings(argument, site)
        if isinstance(word := string.value, str) and word in names
    ]
    if strings:
        words = ", ".join(f"'{word}'" for _, word in strings)
        edits = tuple(site.replaced(string, str(names.index(word))) for string, word in strings)
        yield Proposal(f"Give the index of {words}.", edits)


def _strings(argument: ast.expr, site: Site) -> Iterable[ast.Constant]:
    return [argument] if isinstance(argument, ast.Constant) else site.strings(argument)
