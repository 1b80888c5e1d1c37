"""Exchanges two arguments that stand at each other's parameters."""

from __future__ import annotations

from collections.abc import Iterator

from namecheck.core.findings import Edit, Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC605",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch


            def attend(query, key, value):
                return torch.softmax(query @ key.transpose(-2, -1), dim=-1) @ value


            def read(query, key_states, value_states):
                B, T, C = query.shape
                found = attend(query, value_states, key_states)
                return found + query


            words = torch.ones(2, 3, 4)
            print(read(words, words, 2 * words).shape)
            """,
            """
            import torch


            def attend(query, key, value):
                return torch.softmax(query @ key.transpose(-2, -1), dim=-1) @ value


            def read(query, key_states, value_states):
                B, T, C = query.shape
                found = attend(query, key_states, value_states)
                return found + query


            words = torch.ones(2, 3, 4)
            print(read(words, words, 2 * words).shape)
            """,
            evidence="observed",
        ),
    ),
)
def exchange_arguments(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Exchanges two arguments, each of which is called as the other's parameter."""
    spans = [operand.span for operand in finding.facts.operands] if finding.facts else []
    found = [site.expression(span) for span in spans]
    arguments = [each for each in found if each is not None]
    if len(arguments) != 2:
        return
    first, second = arguments
    edits = (Edit(spans[0], site.text(second)), Edit(spans[1], site.text(first)))
    yield Proposal(f"Exchange `{site.line(first)}` and `{site.line(second)}`.", edits)
