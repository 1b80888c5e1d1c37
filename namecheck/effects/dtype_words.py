"""The words by which a row tells what becomes of the dtypes of its operands.

Each is asked about dtypes that are all known, and answers with the dtype in which torch computes
and with that of the result; what is known only in part is `namecheck.attributes.each`'s affair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Final, TypeAlias

from namecheck.core import dtypes as attributes
from namecheck.core.dtypes import (
    INTEGRALS,
    KINDS,
    Category,
    Operand,
    Priority,
    Untold,
    category,
    promote,
    result_type,
    spoken,
)
from namecheck.core.names import Contradiction

Common: TypeAlias = Callable[[str, Sequence[Operand]], str]


@dataclass(frozen=True, slots=True)
class Word:
    """One word: the dtype in which torch computes, and that of the result made of it.

    `operands` are the parameters that count where the row names none; `constant` is the dtype of
    the result where that does not depend on them; `bare` whether it needs no operand; `into` how
    what is written to takes the result (`namecheck.effects.outputs`).
    """

    common: Common
    result: Callable[[str, str], str]
    operands: tuple[str, ...]
    constant: str | None = None
    bare: bool = False
    into: str = "same"

    def takes(self, count: int) -> bool:
        """Whether this many operands are enough."""
        return self.bare or count > 0

    def ask(self, default: str, operands: Sequence[Operand]) -> tuple[str, str]:
        """The dtype in which torch computes, and that of the result."""
        try:
            common = self.common(default, operands)
        except Untold as doubt:
            if doubt.dtype is None:
                raise
            raise Untold(self.result(doubt.dtype, default)) from None
        return common, self.result(common, default)


def _own(common: str, default: str) -> str:
    return common


def _first(default: str, operands: Sequence[Operand]) -> str:
    return operands[0].dtype


def _last(default: str, operands: Sequence[Operand]) -> str:
    return operands[-1].dtype


def _promoted(default: str, operands: Sequence[Operand]) -> str:
    dtype = result_type(operands)
    if KINDS[dtype].shell:
        raise Untold(dtype)
    return dtype


def _floating(default: str, operands: Sequence[Operand]) -> str:
    """Promoted, where integers become the default dtype (torch.div, torch.exp)."""
    dtype = _promoted(default, operands)
    return default if dtype in INTEGRALS else dtype


def _common(default: str, operands: Sequence[Operand]) -> str:
    """The dtype that all have; of different ones it depends on how torch computes."""
    dtypes = {operand.dtype for operand in operands}
    if len(dtypes) > 1:
        raise Untold
    return dtypes.pop()


def _lost(default: str, operands: Sequence[Operand]) -> str:
    dtype = _common(default, operands)
    return default if dtype in INTEGRALS else dtype


def _gathered(default: str, operands: Sequence[Operand]) -> str:
    """Promoted; integers may be added up on the way, and are int64 then (torch.sum)."""
    dtype = _promoted(default, operands)
    if dtype in INTEGRALS:
        raise Untold
    return dtype


CATEGORIES: Final[Mapping[str, frozenset[str]]] = {
    each.name.lower(): attributes.of_category(each) for each in Category
}


@cache
def stood_for(words: str) -> frozenset[str]:
    """The dtypes that words of a row stand for: their names, or those of categories."""
    return frozenset(
        dtype for word in words.split() for dtype in CATEGORIES.get(word, frozenset({word}))
    )


_SAID: Final = re.compile(r"(?:(?P<error>\w+Error): )?(?P<text>.*)", re.DOTALL)


def said(words: str, *dtypes: str) -> tuple[str, str]:
    """What torch raises and says, where a row writes it down, with the dtypes in its words."""
    found = _SAID.fullmatch(words)
    assert found is not None, words
    text = found["text"].format(
        *dtypes,
        spoken=[spoken(dtype) for dtype in dtypes],
        cpp=[attributes.cpp(dtype) for dtype in dtypes],
    )
    return found["error"] or "RuntimeError", text


def mismatch(text: str, error: str = "RuntimeError") -> Contradiction:
    """Operands that must be of one dtype, and are not."""
    return Contradiction(
        "NC305", text, error=error, help="Cast one of them with `.to(other.dtype)`."
    )


def _of_data(default: str, operands: Sequence[Operand]) -> str:
    """The dtype of nested lists of numbers; floats where there is none (torch.tensor)."""
    if not operands:
        return default
    return reduce(promote, [operand.dtype for operand in operands])


def _subtracted(default: str, operands: Sequence[Operand]) -> str:
    bools = [operand.dtype == "bool" for operand in operands]
    if any(bools):
        raise subtraction_of_bools(both=all(bools))
    return _promoted(default, operands)


def subtraction_of_bools(*, both: bool) -> Contradiction:
    """What torch says where it subtracts a bool tensor, or one from another."""
    what = (
        "with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        if both
        else "with a bool tensor is not supported. If you are trying to invert a mask, use "
        "the `~` or `logical_not()` operator instead."
    )
    return Contradiction("NC304", f"Subtraction, the `-` operator, {what}")


def _powered(default: str, operands: Sequence[Operand]) -> str:
    dtype = _promoted(default, operands)
    if dtype == "bool" and operands[-1].priority > Priority.SCALAR:
        raise Contradiction(
            "NC304", "\"pow\" not implemented for 'Bool'", error="NotImplementedError"
        )
    return dtype


def _negated(default: str, operands: Sequence[Operand]) -> str:
    if operands[0].dtype == "bool":
        raise negation_of_bools()
    return operands[0].dtype


def negation_of_bools() -> Contradiction:
    """What torch says where it negates a bool tensor."""
    return Contradiction(
        "NC304",
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead.",
    )


def _summed(common: str, default: str) -> str:
    return "int64" if common in INTEGRALS else common


def _squared(common: str, default: str) -> str:
    return "int64" if common == "bool" else common


def _true(common: str, default: str) -> str:
    """Whether something is true; of bytes that is a byte (torch.all, torch.any)."""
    return "uint8" if common == "uint8" else "bool"


def _double(common: str, default: str) -> str:
    return "complex128" if category(common) is Category.COMPLEX else "float64"


def _averaged(default: str, operands: Sequence[Operand]) -> str:
    dtype = operands[0].dtype
    if dtype in INTEGRALS:
        raise mean_of_integers(dtype)
    return dtype


def mean_of_integers(dtype: str) -> Contradiction:
    """What torch says where it takes the mean of integers or bools."""
    return Contradiction(
        "NC304",
        "mean(): could not infer output dtype. Input dtype must be either a floating point or "
        f"complex dtype. Got: {spoken(dtype)}",
        help="Cast the input with `.float()`, or give `dtype=`.",
    )


def _counted(common: str, default: str) -> str:
    """Numbers from one to another: integers where all bounds are (torch.arange)."""
    return "int64" if common in INTEGRALS else default


def _weighed(default: str, operands: Sequence[Operand]) -> str:
    """Counts, or the sums of weights, which are doubles but for floats (torch.bincount)."""
    if not operands:
        return "int64"
    return "float32" if operands[0].dtype == "float32" else "float64"


def _ranged(default: str, operands: Sequence[Operand]) -> str:
    """Numbers evenly spaced between two others; between tensors it depends (torch.linspace)."""
    if any(operand.priority > Priority.SCALAR for operand in operands):
        raise Untold
    complexes = any(category(operand.dtype) is Category.COMPLEX for operand in operands)
    return attributes.complex_of(default) if complexes else default


def _real(common: str, default: str) -> str:
    return attributes.real_of(common)


def _angle(common: str, default: str) -> str:
    return default if common in INTEGRALS else attributes.real_of(common)


def _complex(common: str, default: str) -> str:
    if common in ("float16", "bfloat16") or KINDS[common].shell:
        raise Untold
    return attributes.complex_of(default if common in INTEGRALS else common)


def _boolean(common: str, default: str) -> str:
    return "bool"


def _default(default: str, operands: Sequence[Operand]) -> str:
    return default


_ONE: Final = ("input",)
_TWO: Final = ("input", "other")

WORDS: Final[dict[str, Word]] = {
    "first": Word(_first, _own, _ONE),
    "last": Word(_last, _own, _TWO),
    "promotes": Word(_promoted, _own, _TWO, into="cast"),
    "floats": Word(_floating, _own, _TWO, into="cast"),
    "compares": Word(_promoted, _boolean, _TWO, "bool", into="cast"),
    "bounded": Word(_promoted, _own, ("input", "min", "max"), into="cast"),
    "common": Word(_common, _own, _TWO),
    "subtracts": Word(_subtracted, _own, _TWO, into="cast"),
    "powers": Word(_powered, _own, _TWO, into="cast"),
    "negates": Word(_negated, _own, _ONE, into="cast"),
    "sums": Word(_first, _summed, _ONE, into="any"),
    "squares": Word(_promoted, _squared, _ONE, into="cast"),
    "truth": Word(_first, _true, _ONE),
    "doubles": Word(_promoted, _double, _TWO),
    "distances": Word(_floating, _real, _TWO),
    "spans": Word(_promoted, _real, _TWO),
    "adds": Word(_gathered, _own, _ONE),
    "gathers": Word(_gathered, _real, _TWO),
    "losses": Word(_lost, _own, _TWO),
    "gaps": Word(_lost, _real, _TWO),
    "means": Word(_averaged, _own, _ONE, into="cast"),
    "real": Word(_first, _real, _ONE),
    "angle": Word(_first, _angle, _ONE, into="cast"),
    "spectral": Word(_promoted, _complex, ("input", "window")),
    "complex": Word(_first, _complex, _ONE),
    "data": Word(_of_data, _own, ("data",), bare=True, into="made"),
    "counts": Word(_promoted, _counted, ("start", "end", "step"), into="made"),
    "weighs": Word(_weighed, _own, ("weights",), bare=True),
    "ranges": Word(_ranged, _own, ("start", "end"), into="made"),
    "default": Word(_default, _own, (), bare=True, into="made"),
}
"""Every word that is no dtype itself."""


@cache
def fixed(dtype: str) -> Word:
    """The word for a result that is of one dtype, whatever the operands are."""
    return Word(
        lambda default, operands: operands[0].dtype if operands else "",
        lambda common, default: dtype,
        _ONE,
        dtype,
        bare=True,
    )
