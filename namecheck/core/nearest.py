"""The word that someone meant who misspelt it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# Letters that are read and typed for digits.
_DIGITS: Final = str.maketrans("OoIl", "0011")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that is closest, None where none is close.

    Of several the one with most letters in their places: of ``NC1O1`` that is NC101, not NC211.
    """
    import difflib

    def closeness(choice: str) -> tuple[float, int]:
        one, another = word.translate(_DIGITS), choice.translate(_DIGITS)
        ratio = difflib.SequenceMatcher(None, another, one).ratio()
        return ratio, sum(a == b for a, b in zip(one, another, strict=False))

    choices = [*words]
    close = difflib.get_close_matches(word, choices, max(len(choices), 1))
    return max(close, key=closeness, default=None)
