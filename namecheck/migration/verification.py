"""Checks that migrated files still parse, and have no new finding."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from namecheck import project
from namecheck.core import parsing
from namecheck.core.dataclasses import dataclass
from namecheck.core.faults import Exhausted
from namecheck.core.findings import Finding
from namecheck.core.regular_files import real_path
from namecheck.core.syntax import Refused
from namecheck.editing.documents import Document
from namecheck.migration.compilation import LeftPlace
from namecheck.migration.migrated import InputFile


@dataclass(frozen=True)
class Draft:
    """A file after the migration, the number of rewritten places, and those that are left."""

    after: Document
    sites: int = 0
    left: tuple[LeftPlace, ...] = ()


def findings(one: InputFile, drafts: Mapping[str, Draft]) -> tuple[Finding, ...]:
    """The findings of a file, with the contents that files, by location, would have.

    Raises `Exhausted` if not all that may be spent on the file suffices.
    """
    overlay = {location: draft.after.data for location, draft in drafts.items()}
    made = project.check_changed(one.entry, overlay, one.purse)
    if one.purse.is_spent:
        raise Exhausted
    return made


def fault(one: InputFile, earlier: Sequence[Finding], drafts: Mapping[str, Draft]) -> str:
    """The mistake in a draft, given the earlier findings; empty where there is none.

    A place that is left may be wrong from now on, as its names are gone. Raises `Exhausted`.
    """
    try:
        sources = {real_path(location): draft.after.source for location, draft in drafts.items()}
    except Refused as refused:
        return f"the result would be no Python: {refused.finding.message}"
    remaining = {
        real_path(location): {_called(place.source) for place in draft.left}
        for location, draft in drafts.items()
    }
    counts = Counter(finding.code for finding in earlier)
    new = []
    for finding in findings(one, drafts):
        location = real_path(finding.filename)
        text = sources[location].segment(finding.span) if location in sources else ""
        if _called(text) not in remaining.get(location, ()):
            counts[finding.code] -= 1
            if counts[finding.code] < 0:
                new.append(f"{finding.code} at `{text}`" if text else finding.code)
    return f"the result would have new findings: {', '.join(new)}" if new else ""


def _called(text: str) -> str:
    """The method or attribute at the end of an expression, or the expression."""
    try:
        node: ast.AST = parsing.expression(f"({text})")
    except SyntaxError:
        return text
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)
