"""The equations of sizes that matter to a call: those of axes and numbers that it has met.

All others are as if they did not hold (`domain.equalities`), so calls that differ only in these
have one summary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from namecheck.core import names as naming
from namecheck.interpreter.domain.equalities import Equations
from namecheck.interpreter.domain.renaming import Renaming

FindWords: TypeAlias = Callable[[], Collection[str]]
"""Finds all words in what a call has met; only called where there are equations."""


def match(
    content: Any,
    other_content: Any,
    renaming: Renaming,
    find_words: FindWords,
    find_other_words: FindWords,
) -> bool:
    """Whether two calls meet the same equations; pairs the numbers in them.

    All else that the calls have met has been compared before.
    """
    own = _about(content, renaming.numbers, find_words)
    counterpart = _about(other_content, renaming.counterparts, find_other_words)
    return renaming.matches(own, counterpart)


def _about(content: Any, paired: Collection[int], find_words: FindWords) -> Equations | None:
    """The equations that a call has met, which has paired these numbers."""
    if not isinstance(content, Equations):
        return None

    def is_possible(word: str) -> bool:
        scopes = naming.scopes(word)
        return not scopes or any(scope in paired for scope in scopes)

    possible = content.about(is_possible)
    if possible is None:
        return None
    words = find_words()
    # The name of a number is made where it is used as a size.
    return possible.about(
        lambda word: is_possible(word) if naming.is_number(word) else word in words
    )
