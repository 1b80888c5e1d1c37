"""The dtypes that an output accepts, in place or as ``out=``: any dtype, or its own alone.

The dtype word of a result implies how an output accepts it: any dtype that it can be ``cast`` to,
the ``same`` dtype alone, ``any``; a result that is ``made`` fills an output of any dtype. Where
torch differs, the row has a cell in `into` for each overload, with torch's error, for further
results after " | ": a word, ``unary`` for a kernel that casts only if it computes in another dtype,
or the accepted dtypes, as ``"complex; fft expects a complex output tensor, but got {spoken[1]}"``.
A dtype that the call requests must be that of the output. tests/runtime/test_dtype_outputs.py
compares all of it with torch 2.13.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.dtypes import KINDS, can_cast
from namecheck.core.names import Contradiction
from namecheck.effects.dtype_words import CATEGORIES, dtypes_of
from namecheck.effects.words import Message, ParameterNames, WordError, read_cell, words_in


@dataclass(frozen=True, slots=True)
class Output:
    """How an output accepts a result: by a word, or if it has one of some dtypes.

    `message` is torch's error otherwise; None for its usual one. `fills` is whether the result is
    made to fill the output.
    """

    how: str
    dtypes: frozenset[str]
    message: Message | None
    fills: bool


_MESSAGES: Final = MappingProxyType(
    {
        how: Message("RuntimeError", text)
        for how, text in {
            "cast": "result type {spoken[0]} can't be cast to the desired output type {spoken[1]}",
            "same": "Expected out tensor to have dtype {cpp[0]}, but got {cpp[1]} instead",
            "unary": "Found dtype {spoken[1]} but expected {spoken[0]}",
            "made": "dtype {spoken[0]} does not match dtype of out parameter ({spoken[1]})",
            "any": "",
        }.items()
    }
)


@cache
def read(text: str, word: str, place: int) -> Output:
    """Read how an output accepts a result, from `into` of the row, else from its dtype word."""
    into = read_cell(text)
    names = [each.name for each in words_in(into.items)] or [word]
    fills = names[0] == "made"
    categories = names[1:] if fills and len(names) > 1 else names
    how = categories[0] if categories[0] in _MESSAGES else ""
    return Output(how, frozenset() if how else dtypes_of(categories), into.message(place), fills)


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `into`; raises `WordError`."""
    into = read_cell(text)
    names = [word.name for word in words_in(into.items)]
    if names and (len(names) > 1 or names[0] not in _MESSAGES):
        for name in names[names[0] == "made" :]:
            if name not in KINDS and name not in CATEGORIES:
                raise WordError(f"unknown word '{name}'", (*_MESSAGES, *CATEGORIES, *KINDS))
        if not into.messages:
            raise WordError("the error of torch for other dtypes is missing")


def check(output: Output, common: str, dtype: str, out_dtype: str, *, requested: bool) -> None:
    """Refuse an output that does not accept the result's dtype (tensor_attributes.rst, casting)."""
    if out_dtype == dtype:
        return
    how, message = output.how, output.message
    if how == "unary":
        how = "same" if common == dtype else "cast"
        message = _MESSAGES["unary"] if common == dtype else None
    if requested and how != "same":
        how, message = "same", _MESSAGES["made" if output.fills else "same"]
    if how == "cast" and can_cast(dtype, out_dtype):
        return
    if how in ("any", "made") or (not how and out_dtype in output.dtypes):
        return
    error, text = (message or _MESSAGES[how]).about(dtype, out_dtype)
    raise Contradiction("NC302", text, error=error, help=_HELP)


_HELP: Final = "Use the call that returns a new tensor, or cast what is written to it first."
