"""The equations of sizes that matter to a call: those of axes and numbers that it has met.

Of all others it only matters whether one holds, for then all axes have a scope of their own
(`domain.equalities`). So calls that differ only in these have one summary.
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


def scope(content: Any) -> tuple[int, ...]:
    """The scope of all axes where equations hold, which a match has paired."""
    return content.scopes[-1:] if isinstance(content, Equations) and content.solved else ()


def _about(content: Any, paired: Collection[int], find_words: FindWords) -> Equations | None:
    """The equations that a call has met, which has paired these numbers."""
    if not isinstance(content, Equations):
        return None

    def is_possible(word: str) -> bool:
        scopes = naming.scopes(word)
        return not scopes or any(scope in paired for scope in scopes)

    met: Collection[str] | None = None

    def is_met(word: str) -> bool:
        nonlocal met
        if not is_possible(word) or naming.is_number(word):
            return is_possible(word)  # the name of a number is made where it is used as a size
        if met is None:
            met = find_words()
        return word in met

    return content.about(is_met, paired)
