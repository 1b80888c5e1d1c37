"""Removes an unused suppression: an unused code from its brackets, or the whole comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import Edit, Finding, Span
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix

_BRACKETS: Final = re.compile(r"\[([^\]]*)\]")


@fix(
    "NC010",
    safety=Safety.ALWAYS,
    examples=(
        Example(
            """
            import torch

            # namecheck: ignore[NC101]
            x = torch.rand(2, 3, names=("N", "C"))
            y = x + x  # namecheck: ignore[NC101, NC102]
            z = x.sum("K") + 1  # namecheck: ignore[NC102, name-not-found]
            w = x * 2  # namecheck: ignore because it is fine  # noqa
            """,
            """
            import torch

            x = torch.rand(2, 3, names=("N", "C"))
            y = x + x
            z = x.sum("K") + 1  # namecheck: ignore[name-not-found]
            w = x * 2  # because it is fine  # noqa
            """,
            safe=True,
        ),
    ),
)
def take_out(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Removes the unused code from the comment, or the whole suppression if it is the only code."""
    idle = finding.facts.words if finding.facts else ()
    span = finding.span
    brackets = _BRACKETS.search(site.source.segment(span))
    words = [word.strip() for word in brackets[1].split(",")] if brackets else []
    rest = [word for word in words if word and word not in idle]
    if brackets and idle and rest:
        start = span.column + brackets.start(1)
        at = Span(span.line, start, span.line, start + len(brackets[1]))
        yield Proposal(f"Take out {', '.join(idle)}.", (Edit(at, ", ".join(rest)),))
    else:
        yield Proposal("Take the comment out.", (_removal(span, site),))


def _removal(span: Span, site: Site) -> Edit:
    """The edit that removes a suppression, with its line, the blanks or the sign."""
    line = site.source.lines[span.line - 1]
    before, behind = line[: span.column - 1], line[span.end_column - 1 :]
    if behind.strip():
        text = "" if behind.lstrip().startswith("#") else "# "
        end = len(line) - len(behind.lstrip()) + 1
        return Edit(Span(span.line, span.column, span.line, end), text)
    if not before.strip() and span.line < len(site.source.lines):
        return Edit(Span(span.line, 1, span.line + 1, 1), "")
    start = len(before.rstrip()) + 1
    return Edit(Span(span.line, start, span.line, len(line) + 1), "")
