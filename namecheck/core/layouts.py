"""Layouts and memory formats: the words of torch (tensor_attributes.rst, the last two sections).

A layout is how the elements of a tensor are stored: all of them (``strided``), or only those that
are not 0, with their indices. The abstract layout of a tensor is one of these, or UNKNOWN.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from namecheck.core.names import Contradiction

STRIDED: Final = "strided"
SPARSE: Final = "sparse_coo"
LAYOUTS: Final = (STRIDED, SPARSE, "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
MEMORY_FORMATS: Final = (
    "contiguous_format",
    "channels_last",
    "channels_last_3d",
    "preserve_format",
)

# The least similarity of a misspelt word to one of these.
_CLOSE: Final = 0.85


@cache
def nearest(word: str) -> str | None:
    """The layout or memory format with the most similar spelling."""
    words = [each for each in (*LAYOUTS, *MEMORY_FORMATS) if _letters_shared(word, each) >= _CLOSE]
    if not words:  # as of nearly all attributes of torch that a program reads
        return None
    import difflib

    close = difflib.get_close_matches(word, words, 1, _CLOSE)
    return close[0] if close else None


def _letters_shared(word: str, other_word: str) -> float:
    """The similarity that two words have if the letters that they share are in one order."""
    count = sum(min(word.count(letter), other_word.count(letter)) for letter in set(other_word))
    return 2 * count / (len(word) + len(other_word))


def missing(word: str) -> Contradiction | None:
    """The error for a misspelt layout or memory format; None for any other word."""
    near = nearest(word)
    if near is None or near == word:
        return None
    return Contradiction(
        "NC504",
        f"module 'torch' has no attribute '{word}'",
        error="AttributeError",
        help=f"Did you mean `torch.{near}`?",
    )
