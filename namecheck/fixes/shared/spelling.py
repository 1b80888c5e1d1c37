"""Similar words, and the strings of a call that contain them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from namecheck.core.findings import Edit
from namecheck.editing.sites import Site, quoted


def string_edits(expression: ast.expr, word: str, nearest: str, site: Site) -> Iterator[Edit]:
    """The edits that replace a word in the strings of an expression."""
    for string in site.strings(expression):
        text = site.text(string)
        if string.value == word and text.strip("\"'") == word:
            yield site.replaced(string, quoted(nearest, text))


def nearest_word(word: str, vocabulary: Collection[str]) -> str | None:
    """The only similar word; None where there is none, or more than one."""
    same = [other for other in vocabulary if other.lower() == word.lower()]
    if len(same) == 1:
        return same[0]
    limit = (len(word) + 1) // 3
    distances = sorted((_distance(word, other, limit), other) for other in vocabulary)
    if not distances or distances[0][0] > limit:
        return None
    alone = len(distances) == 1 or distances[1][0] > distances[0][0]
    return distances[0][1] if alone else None


def _distance(word: str, candidate: str, limit: int) -> int:
    """The number of letters to insert, remove, change or swap with their neighbours.

    More than `limit` where the lengths alone differ by more.
    """
    if abs(len(word) - len(candidate)) > limit:
        return limit + 1
    rows = [list(range(len(candidate) + 1))]
    for i, a in enumerate(word, 1):
        row = [i]
        for j, b in enumerate(candidate, 1):
            cost = min(row[j - 1] + 1, rows[-1][j] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == candidate[j - 2] and b == word[i - 2]:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
