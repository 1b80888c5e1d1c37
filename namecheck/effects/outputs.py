"""What a tensor that is written to, in place or as ``out=``, takes: another dtype, or its own only.

The word for a dtype tells how it takes the result: what can be ``cast``, the ``same`` dtype alone,
``any``; what is ``made`` fills an output of any dtype. Where torch does otherwise the row says so
in `into`, one line for each overload, with what torch says, of further results behind " | ": a
word, ``unary`` for a kernel that casts only what it computes in another dtype, or the dtypes that
are taken, as ``"complex; fft expects a complex output tensor, but got {spoken[1]}"``. A dtype that
the call asks for must be that of the output. All of it is held against torch 2.13 by
tests/runtime/test_dtype_outputs.py.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from namecheck.core.dtypes import KINDS, can_cast
from namecheck.core.names import Contradiction
from namecheck.effects.dtype_words import CATEGORIES, said, stood_for


class Taking(NamedTuple):
    """How an output takes a result (by a word, or only some dtypes), and torch's words otherwise.

    `fills` is whether the output is filled with what is made for it.
    """

    how: str
    words: str
    fills: bool


_WORDS: Final = {
    "cast": "result type {spoken[0]} can't be cast to the desired output type {spoken[1]}",
    "same": "Expected out tensor to have dtype {cpp[0]}, but got {cpp[1]} instead",
    "unary": "Found dtype {spoken[1]} but expected {spoken[0]}",
    "made": "dtype {spoken[0]} does not match dtype of out parameter ({spoken[1]})",
    "any": "",
}


@cache
def taking(told: str, word: str, place: int) -> Taking:
    """How an output takes a result, by `into` of the row, else by the word for its dtype."""
    how, _, words = told.partition("; ")
    texts = words.split(" | ")
    fills = (how or word).startswith("made")
    taken = how.removeprefix("made ") if how else word
    return Taking(taken, texts[min(place, len(texts) - 1)], fills)


def fault_of(told: str) -> str | None:
    """What is wrong with `into` of a row, if anything is."""
    how, _, words = told.partition("; ")
    if not how or how in _WORDS:
        return None
    for word in how.removeprefix("made ").split():
        if word not in KINDS and word not in CATEGORIES:
            return f"into: unknown word '{word}'; the words are {', '.join(_WORDS)}, and dtypes"
    return None if words else "into: what torch says of other dtypes is missing"


def check(taking: Taking, common: str, result: str, target: str, *, asked: bool) -> None:
    """Refuse an output that does not take what is computed (tensor_attributes.rst, casting)."""
    if target == result:
        return
    how, words, fills = taking
    if how == "unary":
        how = "same" if common == result else "cast"
        words = _WORDS["unary"] if common == result else ""
    if asked and how != "same":
        how, words = "same", _WORDS["made" if fills else "same"]
    if how == "cast" and can_cast(result, target):
        return
    if how in ("any", "made") or (how not in _WORDS and target in stood_for(how)):
        return
    error, text = said(words or _WORDS[how], result, target)
    raise Contradiction("NC302", text, error=error, help=_HELP)


_HELP: Final = "Use the call that returns a new tensor, or cast what is written to it first."
