"""The vocabulary of the column `dtype`: how the dtype of a result follows from the operands.

Each word is a function of known dtypes; it returns the dtype in which torch computes and that of
the result. `namecheck.core.dtypes.each` applies it to all possible dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from types import MappingProxyType
from typing import Final, TypeAlias

from namecheck.core import dtypes
from namecheck.core.dataclasses import dataclass
from namecheck.core.dtypes import (
    INTEGRALS,
    KINDS,
    Category,
    Operand,
    Priority,
    Undefined,
    category,
    promote,
    result_type,
    spoken,
)
from namecheck.core.names import Contradiction

Common: TypeAlias = Callable[[str, Sequence[Operand]], str]


@dataclass(frozen=True, slots=True)
class DtypeWord:
    """The meaning of one word: the dtype in which torch computes, and that of the result.

    `parameters` are those that count where the row names none; `constant` is the dtype of a result
    that does not depend on them; `bare` is whether it needs no operand; `into` is how an output
    accepts the result (`namecheck.effects.outputs`); with `each` several results have the dtypes of
    the operands at their places.
    """

    common: Common
    result: Callable[[str, str], str]
    parameters: tuple[str, ...]
    constant: str | None = None
    bare: bool = False
    into: str = "same"
    each: bool = False

    def ask(self, default: str, operands: Sequence[Operand]) -> tuple[str, str]:
        """The dtype in which torch computes, and that of the result."""
        try:
            common = self.common(default, operands)
        except Undefined as doubt:
            if doubt.dtype is None:
                raise
            raise Undefined(self.result(doubt.dtype, default)) from None
        return common, self.result(common, default)

    def requested(self, dtype: str) -> str:
        """The dtype of the result where the call requests one: a norm is real."""
        return dtypes.real_of(dtype) if self.result is _real else dtype


def _own(common: str, default: str) -> str:
    return common


def _first(default: str, operands: Sequence[Operand]) -> str:
    return operands[0].dtype


def _last(default: str, operands: Sequence[Operand]) -> str:
    return operands[-1].dtype


def _promoted(default: str, operands: Sequence[Operand]) -> str:
    dtype = result_type(operands)
    if KINDS[dtype].shell:
        raise Undefined(dtype)
    return dtype


def _merged(default: str, operands: Sequence[Operand]) -> str:
    """Promoted as if each had a dim, also those without (torch.hstack)."""
    return reduce(promote, [operand.dtype for operand in operands])


def _floating(default: str, operands: Sequence[Operand]) -> str:
    """Promoted, where integers become the default dtype (torch.div, torch.exp)."""
    dtype = _promoted(default, operands)
    return default if dtype in INTEGRALS else dtype


def _common(default: str, operands: Sequence[Operand]) -> str:
    """The dtype that all have; for different ones it depends on how torch computes."""
    different = {operand.dtype for operand in operands}
    if len(different) > 1:
        raise Undefined
    return different.pop()


def _lost(default: str, operands: Sequence[Operand]) -> str:
    dtype = _common(default, operands)
    return default if dtype in INTEGRALS else dtype


def _gathered(default: str, operands: Sequence[Operand]) -> str:
    """Promoted; integers may be accumulated in int64 (torch.sum)."""
    return _not_accumulated(_promoted(default, operands))


def _spread(default: str, operands: Sequence[Operand]) -> str:
    """As `_gathered`, promoted as if each had a dim: they are expanded first (mse_loss)."""
    return _not_accumulated(_merged(default, operands))


def _not_accumulated(dtype: str) -> str:
    if dtype in INTEGRALS:
        raise Undefined
    return dtype


CATEGORIES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {each.name.lower(): dtypes.of_category(each) for each in Category}
)


def dtypes_of(dtype_words: Iterable[str]) -> frozenset[str]:
    """The dtypes that words of a row mean: their names, or those of categories."""
    return frozenset(
        dtype for word in dtype_words for dtype in CATEGORIES.get(word, frozenset({word}))
    )


def mismatch(text: str, error: str = "RuntimeError") -> Contradiction:
    """The error for operands that must have the same dtype, and have not."""
    return Contradiction(
        "NC305", text, error=error, help="Cast one of them with `.to(other.dtype)`."
    )


def _of_data(default: str, operands: Sequence[Operand]) -> str:
    """The dtype of nested lists of numbers; of an empty list the default dtype (torch.tensor)."""
    if not operands:
        return default
    return reduce(promote, [operand.dtype for operand in operands])


def _subtracted(default: str, operands: Sequence[Operand]) -> str:
    bools = [operand.dtype == "bool" for operand in operands]
    if any(bools):
        raise subtraction_of_bools(both=all(bools))
    return _promoted(default, operands)


def subtraction_of_bools(*, both: bool) -> Contradiction:
    """The error of torch where it subtracts a bool tensor, or from one."""
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
    """The error of torch where it negates a bool tensor."""
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
    """A truth value; of bytes it is a byte (torch.all, torch.any)."""
    return "uint8" if common == "uint8" else "bool"


def _double(common: str, default: str) -> str:
    return "complex128" if category(common) is Category.COMPLEX else "float64"


def _averaged(default: str, operands: Sequence[Operand]) -> str:
    dtype = operands[0].dtype
    if dtype in INTEGRALS:
        raise mean_of_integers(dtype)
    return dtype


def mean_of_integers(dtype: str) -> Contradiction:
    """The error of torch where it takes the mean of integers or bools."""
    return Contradiction(
        "NC304",
        "mean(): could not infer output dtype. Input dtype must be either a floating point or "
        f"complex dtype. Got: {spoken(dtype)}",
        help="Cast the input with `.float()`, or give `dtype=`.",
    )


def _counted(common: str, default: str) -> str:
    """Numbers from one to another: integers if all bounds are (torch.arange)."""
    return "int64" if common in INTEGRALS else default


def _weighed(default: str, operands: Sequence[Operand]) -> str:
    """Counts; or sums of weights, in float64 unless these are float32 (torch.bincount)."""
    if not operands:
        return "int64"
    return "float32" if operands[0].dtype == "float32" else "float64"


def _ranged(default: str, operands: Sequence[Operand]) -> str:
    """Numbers evenly spaced between two others; undefined between tensors (torch.linspace)."""
    if any(operand.priority > Priority.SCALAR for operand in operands):
        raise Undefined
    complexes = any(category(operand.dtype) is Category.COMPLEX for operand in operands)
    return dtypes.complex_of(default) if complexes else default


def _real(common: str, default: str) -> str:
    return dtypes.real_of(common)


def _angle(common: str, default: str) -> str:
    return default if common in INTEGRALS else dtypes.real_of(common)


def _complex(common: str, default: str) -> str:
    if common in ("float16", "bfloat16") or KINDS[common].shell:
        raise Undefined
    return dtypes.complex_of(default if common in INTEGRALS else common)


def _boolean(common: str, default: str) -> str:
    return "bool"


def _default(default: str, operands: Sequence[Operand]) -> str:
    return default


_ONE: Final = ("input",)
_TWO: Final = ("input", "other")

WORDS: Final[Mapping[str, DtypeWord]] = MappingProxyType(
    {
        "first": DtypeWord(_first, _own, _ONE),
        "each": DtypeWord(_first, _own, _ONE, each=True),
        "last": DtypeWord(_last, _own, _TWO),
        "promotes": DtypeWord(_promoted, _own, _TWO, into="cast"),
        "merges": DtypeWord(_merged, _own, ("tensors",), into="cast"),
        "floats": DtypeWord(_floating, _own, _TWO, into="cast"),
        "compares": DtypeWord(_promoted, _boolean, _TWO, "bool", into="cast"),
        "bounded": DtypeWord(_promoted, _own, ("input", "min", "max"), into="cast"),
        "common": DtypeWord(_common, _own, _TWO),
        "subtracts": DtypeWord(_subtracted, _own, _TWO, into="cast"),
        "powers": DtypeWord(_powered, _own, _TWO, into="cast"),
        "negates": DtypeWord(_negated, _own, _ONE, into="cast"),
        "sums": DtypeWord(_first, _summed, _ONE, into="any"),
        "squares": DtypeWord(_promoted, _squared, _ONE, into="cast"),
        "truth": DtypeWord(_first, _true, _ONE),
        "doubles": DtypeWord(_promoted, _double, _TWO),
        "distances": DtypeWord(_floating, _real, _TWO),
        "spans": DtypeWord(_promoted, _real, _TWO),
        "adds": DtypeWord(_gathered, _own, _ONE),
        "spreads": DtypeWord(_spread, _own, _TWO),
        "gathers": DtypeWord(_spread, _real, _TWO),
        "losses": DtypeWord(_lost, _own, _TWO),
        "gaps": DtypeWord(_lost, _real, _TWO),
        "means": DtypeWord(_averaged, _own, _ONE, into="cast"),
        "real": DtypeWord(_first, _real, _ONE),
        "angle": DtypeWord(_first, _angle, _ONE, into="cast"),
        "spectral": DtypeWord(_promoted, _complex, ("input", "window")),
        "complex": DtypeWord(_first, _complex, _ONE),
        "data": DtypeWord(_of_data, _own, ("data",), bare=True, into="made"),
        "counts": DtypeWord(_promoted, _counted, ("begin", "end", "step"), into="made"),
        "weighs": DtypeWord(_weighed, _own, ("weights",), bare=True),
        "ranges": DtypeWord(_ranged, _own, ("start", "end"), into="made"),
        "default": DtypeWord(_default, _own, (), bare=True, into="made"),
    }
)
"""Every word that is no dtype itself."""


@cache
def fixed(dtype: str) -> DtypeWord:
    """The word for a result with a fixed dtype, whatever the operands are."""
    return DtypeWord(
        lambda default, operands: operands[0].dtype if operands else "",
        lambda common, default: dtype,
        _ONE,
        dtype,
        bare=True,
    )
