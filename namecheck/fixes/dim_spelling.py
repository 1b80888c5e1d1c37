"""Corrects a misspelt name of a dim."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.findings import Edit, Finding, Span
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.spelling import nearest_word, string_edits


@fix(
    "NC103",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch

            x = torch.rand(2, 3, names=("batch", "channels"))
            print(x.sum('chanels').names)
            """,
            """
            import torch

            x = torch.rand(2, 3, names=("batch", "channels"))
            print(x.sum('channels').names)
            """,
        ),
        Example(
            """
            import torch

            x = torch.rand(2, 3, names=("batch", "channels"))
            print(x.rename(bacth="N").names)
            """,
            """
            import torch

            x = torch.rand(2, 3, names=("batch", "channels"))
            print(x.rename(batch="N").names)
            """,
        ),
    ),
)
def spell_dim(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Corrects a name of a dim, if exactly one name of the tensor is nearly the same."""
    facts, node = finding.facts, site.expression(finding.span)
    if facts is None or node is None:
        return
    names = {name for operand in facts.operands for name in operand.names or () if name is not None}
    for word in facts.words:
        nearest = nearest_word(word, names - {word})
        if nearest is None:
            continue
        edits = [*string_edits(node, word, nearest, site), *_keywords(node, word, nearest, site)]
        if edits:
            yield Proposal(f"Replace '{word}' by '{nearest}'.", tuple(edits))


def _keywords(expression: ast.expr, word: str, nearest: str, site: Site) -> Iterator[Edit]:
    for keyword in expression.keywords if isinstance(expression, ast.Call) else ():
        if keyword.arg == word:
            start = site.source.span(keyword)
            end = start.column + len(word)
            yield Edit(Span(start.line, start.column, start.line, end), nearest)
