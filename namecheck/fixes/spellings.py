"""Words that are misspelt: names of dims, dtypes, devices, layouts and memory formats."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from namecheck.core import devices, dtypes, layouts
from namecheck.core.findings import Edit, Finding, Fix, Span
from namecheck.editing.sites import Site, quoted

# Shorter names are not taken for misspelt ones where two meet: `n` and `m` are two dims.
_LONG: Final = 4


def of_dims(finding: Finding, site: Site) -> Iterator[Fix]:
    """Spells a dim as the tensor does, where it has one name alone that is nearly the same."""
    facts, node = finding.facts, site.expression(finding.span)
    if facts is None or node is None:
        return
    known = {name for given in facts.given for name in given.names or () if name is not None}
    for word in facts.words:
        nearest = _nearest(word, known - {word})
        if nearest is None:
            continue
        edits = [*_strings(node, word, nearest, site), *_keywords(node, word, nearest, site)]
        if edits:
            yield Fix(f"Replace '{word}' by '{nearest}'.", False, tuple(edits))


def of_alignments(finding: Finding, site: Site) -> Iterator[Fix]:
    """Spells a dim as the tensor does, where the order that is asked for has nearly its name."""
    facts, node = finding.facts, site.expression(finding.span)
    if facts is None or node is None:
        return
    known = {name for given in facts.given[:1] for name in given.names or ()}
    asked = {str(string.value) for string in site.strings(node)} - known
    for word in facts.words:
        nearest = _nearest(word, asked)
        if nearest is not None:
            edits = tuple(_strings(node, nearest, word, site))
            yield Fix(f"Replace '{nearest}' by '{word}'.", False, edits)


def _strings(node: ast.expr, word: str, nearest: str, site: Site) -> Iterator[Edit]:
    for string in site.strings(node):
        written = site.text(string)
        if string.value == word and written.strip("\"'") == word:
            yield site.replaced(string, quoted(nearest, written))


def _keywords(node: ast.expr, word: str, nearest: str, site: Site) -> Iterator[Edit]:
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        if keyword.arg == word:
            start = site.source.span(keyword)
            end = start.column + len(word)
            yield Edit(Span(start.line, start.column, start.line, end), nearest)


def of_two(finding: Finding, site: Site) -> Iterator[Fix]:
    """Spells the rarer of two names that meet, and are nearly the same, like the other."""
    words = finding.facts.words[:2] if finding.facts else ()
    if len(words) < 2 or min(map(len, words)) < _LONG or not _nearest(words[0], [words[1]]):
        return
    rarer, other = sorted(words, key=lambda word: len(list(_names(word, site))))
    found = list(_names(rarer, site))
    if 0 < len(found) < len(list(_names(other, site))):
        edits = tuple(replace(edit, text=other) for edit in found)
        yield Fix(f"Replace '{rarer}' by '{other}'.", False, edits)


def _names(word: str, site: Site) -> Iterator[Edit]:
    """The places in the strings of a file at which a name stands, as edits that change nothing."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    for string in site.strings_everywhere():
        span = site.source.span(string)
        if span.line == span.end_line:
            for found in pattern.finditer(site.text(string)):
                start, end = (span.column + offset for offset in found.span())
                yield Edit(Span(span.line, start, span.line, end), word)


def of_dtypes(finding: Finding, site: Site) -> Iterator[Fix]:
    """Writes the dtype of torch that is spelt nearly so, or that a string tells."""
    node = site.expression(finding.span)
    if isinstance(node, ast.Attribute):
        near = dtypes.nearest(node.attr)
        if near is not None:
            at = site.source.span(node).tail(len(node.attr))
            yield Fix(f"Replace '{node.attr}' by '{near}'.", False, (Edit(at, near),))
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        value = keyword.value
        if keyword.arg == "dtype" and isinstance(value, ast.Constant):
            near = dtypes.nearest(str(value.value).removeprefix("torch."))
            if near is not None:
                edit = site.replaced(value, f"torch.{near}")
                yield Fix(f"Give the dtype `torch.{near}`.", False, (edit,))


def of_devices(finding: Finding, site: Site) -> Iterator[Fix]:
    """Writes the device that is spelt nearly so."""
    node = site.expression(finding.span)
    for string in () if node is None else site.strings(node):
        word = str(string.value)
        near = devices.nearest(word)
        if near is not None and near != word:
            edit = site.replaced(string, quoted(near, site.text(string)))
            yield Fix(f"Replace '{word}' by '{near}'.", False, (edit,))


def of_layouts(finding: Finding, site: Site) -> Iterator[Fix]:
    """Writes the layout, or the memory format, that is spelt nearly so."""
    node = site.expression(finding.span)
    near = layouts.nearest(node.attr) if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Attribute) and near is not None:
        at = site.source.span(node).tail(len(node.attr))
        yield Fix(f"Replace '{node.attr}' by '{near}'.", False, (Edit(at, near),))


def _nearest(word: str, known: Iterable[str]) -> str | None:
    """The one word that is nearly this one; None where there is none, or more than one."""
    listed = sorted(known)
    same = [other for other in listed if other.lower() == word.lower()]
    if len(same) == 1:
        return same[0]
    far = (len(word) + 1) // 3
    distances = sorted((_distance(word, other, far), other) for other in listed)
    if not distances or distances[0][0] > far:
        return None
    alone = len(distances) == 1 or distances[1][0] > distances[0][0]
    return distances[0][1] if alone else None


def _distance(one: str, other: str, far: int) -> int:
    """How many letters are to be put in, taken out, changed or swapped with their neighbours."""
    if abs(len(one) - len(other)) > far:
        return far + 1
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(row[j - 1] + 1, rows[-1][j] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
