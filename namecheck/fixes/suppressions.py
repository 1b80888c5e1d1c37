"""Comments that suppress nothing go: an idle code from its brackets, or the whole comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import Edit, Finding, Fix, Span
from namecheck.editing.sites import Site

_BRACKETS: Final = re.compile(r"\[([^\]]*)\]")


def without(finding: Finding, site: Site) -> Iterator[Fix]:
    """Takes the idle code out of the comment, or the whole suppression where no other is left."""
    idle = finding.facts.words if finding.facts else ()
    span = finding.span
    found = _BRACKETS.search(site.source.segment(span))
    words = [word.strip() for word in found[1].split(",")] if found else []
    left = [word for word in words if word and word not in idle]
    if found and idle and left:
        start = span.column + found.start(1)
        at = Span(span.line, start, span.line, start + len(found[1]))
        yield Fix(f"Take out {', '.join(idle)}.", True, (Edit(at, ", ".join(left)),))
    else:
        yield Fix("Take the comment out.", True, (_taken_out(span, site),))


def _taken_out(span: Span, site: Site) -> Edit:
    """The edit that takes a suppression out, and the line, the blanks or the sign with it."""
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
