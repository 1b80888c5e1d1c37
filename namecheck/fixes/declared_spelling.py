"""Corrects the rarer of two names that clash and are nearly the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.findings import Edit, Finding, Span
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.spelling import nearest_word

# Shorter names are not misspellings of each other: `n` and `m` are two dims.
_LONG: Final = 4


@fix(
    "NC101",
    "NC112",
    safety=Safety.NEVER,
    precedence=10,
    examples=(
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def join(
                a: Annotated[Tensor, "batch features"], b: Annotated[Tensor, "batch featurs"]
            ) -> Annotated[Tensor, "batch features"]:
                return a + b
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def join(
                a: Annotated[Tensor, "batch features"], b: Annotated[Tensor, "batch features"]
            ) -> Annotated[Tensor, "batch features"]:
                return a + b
            """,
            code="NC101",
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def last(
                a: Annotated[Tensor, "batch features"], b: Annotated[Tensor, "batch featrues"]
            ) -> Annotated[Tensor, "batch features"]:
                print(a)
                return b
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def last(
                a: Annotated[Tensor, "batch features"], b: Annotated[Tensor, "batch features"]
            ) -> Annotated[Tensor, "batch features"]:
                print(a)
                return b
            """,
            code="NC112",
        ),
    ),
)
def spell_rarer_name(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Corrects the rarer of two clashing names that are nearly the same."""
    words = finding.facts.words[:2] if finding.facts else ()
    if len(words) < 2 or min(map(len, words)) < _LONG or not nearest_word(words[0], [words[1]]):
        return
    rarer, frequent = sorted(words, key=lambda word: len(list(_places(word, site))))
    places = list(_places(rarer, site))
    if 0 < len(places) < len(list(_places(frequent, site))):
        edits = tuple(replace(edit, text=frequent) for edit in places)
        yield Proposal(f"Replace '{rarer}' by '{frequent}'.", edits)


def _places(word: str, site: Site) -> Iterator[Edit]:
    """The occurrences of a name in the strings of a file, as edits that change nothing."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    for string in site.strings_everywhere():
        span = site.source.span(string)
        if span.line == span.end_line:
            for match in pattern.finditer(site.text(string)):
                start, end = (span.column + offset for offset in match.span())
                yield Edit(Span(span.line, start, span.line, end), word)
