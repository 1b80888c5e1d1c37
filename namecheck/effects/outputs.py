"""The dtypes that an output accepts, in place or as ``out=``: any dtype, or its own alone.

The dtype word of a result implies how an output accepts it: any dtype that it can be ``cast`` to,
the ``same`` dtype alone, ``any``; a result that is ``made`` fills an output of any dtype. Where
torch differs, the row has a cell in `into` for each overload, with torch's error, for further
results after " | ": a word, ``unary`` for a kernel that casts only if it computes in another dtype,
or the accepted dtypes, as ``"complex; fft expects a complex output tensor, but got {spoken[1]}"``.
A cell with a condition (``"unary if rank(weight) > 0"``) holds only on it, else the dtype word.
A dtype that the call requests must be that of the output. tests/runtime/test_dtype_outputs.py
compares all of it with torch 2.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.dtypes import KINDS, can_cast
from namecheck.core.names import Answer, Contradiction
from namecheck.effects import conditions
from namecheck.effects.dtype_words import CATEGORIES, dtypes_of
from namecheck.effects.words import (
    Condition,
    Message,
    ParameterNames,
    WordError,
    check_parameters,
    read_conditional,
    words_in,
)


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


@dataclass(frozen=True, slots=True)
class OutputEffect:
    """How outputs accept the result of a call, `otherwise` where a condition does not hold."""

    output: Output
    condition: Condition | None
    otherwise: Output

    def possible(self, arguments: Mapping[str, Any]) -> tuple[Output, ...]:
        """How the output of a call accepts its result: two ways where the condition is unknown."""
        if self.condition is None:
            return (self.output,)
        holds = conditions.answer(self.condition, arguments)
        if holds is Answer.MAYBE:
            return self.output, self.otherwise
        return (self.output,) if holds is Answer.YES else (self.otherwise,)


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
def read(text: str, word: str, place: int) -> OutputEffect:
    """Read how an output accepts a result, from `into` of the row, else from its dtype word."""
    _, condition = read_conditional(text)
    return OutputEffect(_read(text, word, place), condition, _read("", word, place))


@cache
def _read(text: str, word: str, place: int) -> Output:
    into, _ = read_conditional(text)
    names = [each.name for each in words_in(into.items)] or [word]
    fills = names[0] == "made"
    categories = names[1:] if fills and len(names) > 1 else names
    how = categories[0] if categories[0] in _MESSAGES else ""
    return Output(how, frozenset() if how else dtypes_of(categories), into.message(place), fills)


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `into`; raises `WordError`."""
    into, condition = read_conditional(text)
    if condition is not None:
        conditions.check(condition)
        check_parameters(condition.parameters, parameters)
    names = [word.name for word in words_in(into.items)]
    if names and (len(names) > 1 or names[0] not in _MESSAGES):
        for name in names[names[0] == "made" :]:
            if name not in KINDS and name not in CATEGORIES:
                raise WordError(f"unknown word '{name}'", (*_MESSAGES, *CATEGORIES, *KINDS))
        if not into.messages:
            raise WordError("the error of torch for other dtypes is missing")


def check(
    accepts: tuple[Output, ...], common: str, dtype: str, out_dtype: str, *, requested: bool
) -> None:
    """Refuse an output that does not accept the result's dtype (tensor_attributes.rst, casting).

    Where it may accept results in several ways, all of them must refuse this one.
    """
    refusals = [_refusal(output, common, dtype, out_dtype, requested) for output in accepts]
    if refusals[0] is not None and None not in refusals:
        raise refusals[0]


def _refusal(
    output: Output, common: str, dtype: str, out_dtype: str, requested: bool
) -> Contradiction | None:
    if out_dtype == dtype:
        return None
    how, message = output.how, output.message
    if how == "unary":
        how = "same" if common == dtype else "cast"
        message = _MESSAGES["unary"] if common == dtype else None
    if requested and how != "same":
        how, message = "same", _MESSAGES["made" if output.fills else "same"]
    if how == "cast" and can_cast(dtype, out_dtype):
        return None
    if how in ("any", "made") or (not how and out_dtype in output.dtypes):
        return None
    error, text = (message or _MESSAGES[how]).about(dtype, out_dtype)
    return Contradiction("NC302", text, error=error, help=_HELP)


_HELP: Final = "Use the call that returns a new tensor, or cast what is written to it first."
