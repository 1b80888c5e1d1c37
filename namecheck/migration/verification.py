"""Whether files as they would become still parse, and bring no finding that was not there."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from namecheck import project
from namecheck.core.findings import Finding
from namecheck.core.syntax import Refused
from namecheck.editing.documents import Document
from namecheck.migration.compilation import LeftPlace
from namecheck.project import Entry


@dataclass(frozen=True)
class Candidate:
    """What a file would become, how many places are rewritten, and which are left."""

    after: Document
    sites: int = 0
    left: tuple[LeftPlace, ...] = ()


def findings(entry: Entry, candidates: Mapping[str, Candidate]) -> tuple[Finding, ...]:
    """The findings of a file, with those contents of files, by location, that they would have."""
    overlay = {location: candidate.after.data for location, candidate in candidates.items()}
    return project.check([entry], jobs=1, overlay=overlay).findings


def fault(entry: Entry, known: Sequence[Finding], candidates: Mapping[str, Candidate]) -> str:
    """What is wrong with a candidate, of which these findings are known; empty where nothing is.

    What is left may be wrong from now on, as there are no more names where they came from.
    """
    try:
        sources = {
            os.path.realpath(location): candidate.after.source
            for location, candidate in candidates.items()
        }
    except Refused as refused:
        return f"what would become of it is no Python: {refused.finding.message}"
    left = {
        os.path.realpath(location): {_called(place.source) for place in candidate.left}
        for location, candidate in candidates.items()
    }
    counts = Counter(finding.code for finding in known)
    new = []
    for finding in findings(entry, candidates):
        location = os.path.realpath(finding.filename)
        text = sources[location].segment(finding.span) if location in sources else ""
        if _called(text) not in left.get(location, ()):
            counts[finding.code] -= 1
            if counts[finding.code] < 0:
                new.append(f"{finding.code} at `{text}`" if text else finding.code)
    return f"what would become of it has new findings: {', '.join(new)}" if new else ""


def _called(text: str) -> str:
    """The method or attribute that an expression ends with, or the expression."""
    try:
        node: ast.AST = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return text
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)
