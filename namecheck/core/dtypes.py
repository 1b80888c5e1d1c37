"""dtypes as a small lattice, and torch's promotion of them as data (tensor_attributes.rst).

An abstract dtype is a dtype, a choice of several (jaxtyping's ``Float``), or UNKNOWN. An operation
is a function of single dtypes; `each` applies it to all that are possible.
"""

from __future__ import annotations

import enum
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.core.devices import STANDARD_DEVICE, Device
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown

DType: TypeAlias = str | frozenset[str] | Unknown


class Category(enum.IntEnum):
    """The categories of dtypes, in the order in which promotion considers them."""

    BOOL = 0
    INTEGRAL = 1
    FLOATING = 2
    COMPLEX = 3


@dataclass(frozen=True, slots=True)
class Kind:
    """One dtype: its category, its name in torch's messages, the name of its C++ type.

    A `shell` dtype has few operators, and hardly any promotion.
    """

    category: Category
    spoken: str
    cpp: str
    shell: bool = False


_TABLE: Final = """
float32 FLOATING Float float
float64 FLOATING Double double
float16 FLOATING Half c10::Half
bfloat16 FLOATING BFloat16 c10::BFloat16
int64 INTEGRAL Long long int
int32 INTEGRAL Int int
int16 INTEGRAL Short short int
int8 INTEGRAL Char signed char
uint8 INTEGRAL Byte unsigned char
bool BOOL Bool bool
complex64 COMPLEX ComplexFloat c10::complex<float>
complex128 COMPLEX ComplexDouble c10::complex<double>
complex32 COMPLEX ComplexHalf c10::complex<c10::Half>
"""
_SHELLS: Final = """
uint16 INTEGRAL UInt16 short unsigned int
uint32 INTEGRAL UInt32 unsigned int
uint64 INTEGRAL UInt64 long unsigned int
float8_e4m3fn FLOATING Float8_e4m3fn c10::Float8_e4m3fn
float8_e5m2 FLOATING Float8_e5m2 c10::Float8_e5m2
float8_e4m3fnuz FLOATING Float8_e4m3fnuz c10::Float8_e4m3fnuz
float8_e5m2fnuz FLOATING Float8_e5m2fnuz c10::Float8_e5m2fnuz
float8_e8m0fnu FLOATING Float8_e8m0fnu c10::Float8_e8m0fnu
float4_e2m1fn_x2 FLOATING Float4_e2m1fn_x2 c10::Float4_e2m1fn_x2
"""


def _kinds(text: str, *, shell: bool) -> dict[str, Kind]:
    rows = [line.split(None, 3) for line in text.split("\n") if line]
    return {
        name: Kind(Category[category], spoken, cpp, shell) for name, category, spoken, cpp in rows
    }


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    _kinds(_TABLE, shell=False) | _kinds(_SHELLS, shell=True)
)
"""Every dtype of the document; the most common ones come first."""

BYTES: Final[Mapping[str, int]] = MappingProxyType(
    {
        name: int("".join(filter(str.isdigit, name)) or 8) // 8
        for name, kind in KINDS.items()
        if not kind.shell
    }
)
"""The bytes of an element of each dtype that has all operators."""

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "float": "float32",
        "double": "float64",
        "half": "float16",
        "chalf": "complex32",
        "cfloat": "complex64",
        "cdouble": "complex128",
        "short": "int16",
        "int": "int32",
        "long": "int64",
    }
)
"""The aliases of dtypes in torch."""

# Half a table: each row ends at its own dtype; the other half is its mirror image.
_PROMOTIONS: Final = """
bool       bool
uint8      uint8      uint8
int8       int8       int16      int8
int16      int16      int16      int16      int16
int32      int32      int32      int32      int32      int32
int64      int64      int64      int64      int64      int64      int64
float16    float16    float16    float16    float16    float16    float16    float16
bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   float32    bfloat16
float32    float32    float32    float32    float32    float32    float32    float32    float32 \
           float32
float64    float64    float64    float64    float64    float64    float64    float64    float64 \
           float64    float64
complex32  complex32  complex32  complex32  complex32  complex32  complex32  complex32  complex64 \
           complex64  complex128 complex32
complex64  complex64  complex64  complex64  complex64  complex64  complex64  complex64  complex64 \
           complex64  complex128 complex64  complex64
complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 \
           complex128 complex128 complex128 complex128 complex128
"""


def _closed(text: str) -> dict[tuple[str, str], str]:
    rows = [line.split() for line in text.split("\n") if line]
    order = [row[0] for row in rows]
    half = {(row[0], other): result for row in rows for other, result in zip(order, row[1:])}  # noqa: B905
    return half | {(right, left): result for (left, right), result in half.items()}


PROMOTIONS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(_closed(_PROMOTIONS))

_COMPLEX_OF: Final = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}
_REAL_OF: Final = {pair: real for real, pair in _COMPLEX_OF.items()}
STANDARD_DEFAULT: Final = "float32"


class Priority(enum.IntEnum):
    """The priority of an operand when dtypes are promoted (tensor_attributes.rst, the rules)."""

    SCALAR = 0
    ZERO_DIM = 1
    DIMENSIONED = 2


class Operand(NamedTuple):
    """One operand with a known dtype; a Python number has the dtype that torch gives it."""

    dtype: str
    priority: Priority = Priority.DIMENSIONED


@dataclass(frozen=True, slots=True)
class Defaults:
    """The torch defaults: the dtype and the device of calls that name none.

    `autocast` is whether it may be on, so that torch casts the operands of some operators; `meta`
    is whether a tensor of an unknown device may be on the meta device, which refuses fewer dtypes.
    """

    keeps_hash: ClassVar[bool] = True
    dtype: DType = STANDARD_DEFAULT
    autocast: bool = False
    device: Device = STANDARD_DEVICE
    meta: bool = False


STANDARD: Final = Defaults()


class Undefined(Exception):
    """The result of these dtypes is undefined in torch, or differs between machines.

    `dtype` is that of the result where torch gives one.
    """

    def __init__(self, dtype: str | None = None) -> None:
        super().__init__()
        self.dtype = dtype


def named(word: str) -> str | None:
    """The dtype that torch has under a name; None where it has none."""
    dtype = ALIASES.get(word, word)
    return dtype if dtype in KINDS else None


def missing(word: str) -> Contradiction | None:
    """The error for a misspelt dtype name; None for any other word."""
    if word in KINDS or word in ALIASES or word in _FURTHER or not _is_meant_for_one(word):
        return None
    near = nearest(word)
    return Contradiction(
        "NC306",
        f"module 'torch' has no attribute '{word}'",
        error="AttributeError",
        help=f"Did you mean `torch.{near}`?" if near else None,
    )


# Dtypes of torch that the document does not list; there may be more.
_FURTHER: Final = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8))
_LOOKS: Final = r"(bfloat|u?int|float|complex)([1-9]\d+|[3579])|float(8_e(4m3|5m2|8m0)|4_e2m1)\w*"
_WIDE: Final = r"(?P<word>[a-pr-z][a-z]+)(8|16|32|64|128)"  # q: quantized
_STEMS: Final = ("float", "bfloat", "int", "uint", "complex")


def _slips(word: str) -> Iterator[str]:
    """A word with two letters swapped; a longer one also with a letter doubled or left out."""
    for place in range(1, len(word)):
        yield word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]
        if len(word) > 4 and word != "short":  # without its h it is `sort`
            yield word[:place] + word[place - 1 :]
            yield word[:place] + word[place + 1 :]
    if len(word) > 3:
        yield word + word[-1]


_SLIPS: Final = frozenset(
    slip for word in (*ALIASES, "bool") for slip in _slips(word) if slip not in ALIASES
)


@cache
def _is_meant_for_one(word: str) -> bool:
    """Whether a word is a misspelling of a dtype: ``float23``, ``flaot32``, ``dobule``."""
    if word in _SLIPS or re.fullmatch(_LOOKS, word):
        return True
    wide = re.fullmatch(_WIDE, word)
    if wide is None:
        return False
    import difflib

    return bool(difflib.get_close_matches(wide["word"], _STEMS, 1, 0.75))


def misspelt(word: str, message: str, error: str = "TypeError") -> Contradiction:
    """The error for a string in place of a dtype."""
    near = nearest(word.removeprefix("torch."))
    help_ = f"Write `torch.{near}`." if near else "Write one of torch's dtypes, `torch.float32`."
    return Contradiction("NC306", message, error=error, help=help_)


def nearest(word: str) -> str | None:
    """The dtype, or alias of a dtype, with the most similar spelling."""
    import difflib

    close = difflib.get_close_matches(word, [*KINDS, *ALIASES], 1)
    return close[0] if close else None


@cache
def possible(dtype: DType) -> tuple[str, ...]:
    """All dtypes that it may be, the most common first; empty where it is unknown."""
    if isinstance(dtype, str):
        return (dtype,)
    return () if isinstance(dtype, Unknown) else tuple(kind for kind in KINDS if kind in dtype)


def one_of(dtypes: Iterable[str]) -> DType:
    """The abstract dtype that covers exactly these."""
    several = frozenset(dtypes)
    if not several or not several <= KINDS.keys():
        return UNKNOWN
    return next(iter(several)) if len(several) == 1 else several


def join(dtype: DType, other_dtype: DType) -> DType:
    """The least upper bound of both."""
    if dtype == other_dtype:
        return dtype
    if isinstance(dtype, Unknown) or isinstance(other_dtype, Unknown):
        return UNKNOWN
    return one_of((*possible(dtype), *possible(other_dtype)))


@cache
def meet(dtype: DType, other_dtype: DType) -> DType:
    """The greatest lower bound of both; the first where there is none."""
    if isinstance(dtype, Unknown) or isinstance(other_dtype, Unknown):
        return other_dtype if isinstance(dtype, Unknown) else dtype
    both = set(possible(dtype)) & set(possible(other_dtype))
    return one_of(both) if both else dtype


def may_be_one(dtype: DType, other_dtype: DType) -> bool:
    """Whether two may be the same dtype."""
    if isinstance(dtype, Unknown) or isinstance(other_dtype, Unknown):
        return True
    return not set(possible(dtype)).isdisjoint(possible(other_dtype))


def covers(dtype: DType, covered_dtype: DType) -> bool:
    """Whether `dtype` covers `covered_dtype`."""
    if isinstance(dtype, Unknown) or dtype == covered_dtype:
        return True
    return bool(possible(covered_dtype)) and set(possible(covered_dtype)) <= set(possible(dtype))


MASKS: Final = frozenset({"bool", "uint8"})  # an index of these dtypes is a mask


@cache
def is_among(dtype: DType, dtypes: frozenset[str]) -> Answer:
    """Whether a dtype is one of these."""
    memberships = {each in dtypes for each in possible(dtype)}
    if len(memberships) != 1:
        return Answer.MAYBE
    return Answer.YES if memberships.pop() else Answer.NO


def category(dtype: str) -> Category:
    """The category of a dtype."""
    return KINDS[dtype].category


def show(dtype: DType) -> str:
    """A dtype for a reader, a choice as its alternatives; empty where it is unknown."""
    return " or ".join(possible(dtype))


def of_category(*categories: Category) -> frozenset[str]:
    """The dtypes of some categories."""
    return frozenset(name for name, kind in KINDS.items() if kind.category in categories)


INTEGRALS: Final = of_category(Category.BOOL, Category.INTEGRAL)
FLOATINGS: Final = of_category(Category.FLOATING)
COMPLEXES: Final = of_category(Category.COMPLEX)


def spoken(dtype: str) -> str:
    """The name of a dtype in torch's messages: ``Float``."""
    return KINDS[dtype].spoken


def cpp(dtype: str) -> str:
    """The C++ type of a dtype in torch's messages: ``c10::Half``."""
    return KINDS[dtype].cpp


def complex_of(dtype: str) -> str:
    """The complex dtype whose components have this floating dtype (torch.complex)."""
    if category(dtype) is Category.COMPLEX:
        return dtype
    if dtype not in _COMPLEX_OF and dtype != "bfloat16":
        raise Undefined
    return _COMPLEX_OF.get(dtype, "complex64")


def limited(dtype: str, *, floating: bool) -> Contradiction | None:
    """The error for `finfo` of an integer dtype, or `iinfo` of another; None where allowed."""
    name, other = ("finfo", "iinfo") if floating else ("iinfo", "finfo")
    kind = category(dtype)
    if kind is Category.BOOL and not floating:
        text = "torch.bool is not supported by torch.iinfo"
    elif floating == (kind >= Category.FLOATING):
        return None
    else:
        what = "a floating point" if floating else "an integer"
        text = (
            f"torch.{name}() requires {what} input type. Use torch.{other} to handle 'torch.{name}'"
        )
    return Contradiction("NC304", text, error="TypeError", help=f"The dtype is {dtype}.")


_DEFAULTS: Final = "only floating-point types are supported as the default type"


def unfit(default: str) -> Contradiction | None:
    """The error for a dtype that cannot be the default dtype; None where it can."""
    if category(default) is Category.FLOATING:
        return None
    return Contradiction("NC304", _DEFAULTS, error="TypeError", help=f"The dtype is {default}.")


def unfit_text(default: str) -> Contradiction:
    """The error for a string as the default dtype."""
    return misspelt(default, f"invalid dtype object: {_DEFAULTS}")


def property_of(dtype: str, name: str) -> bool | None:
    """``dtype.is_floating_point`` and the like; None for a word that is no such property."""
    kind = category(dtype)
    properties = {
        "is_floating_point": kind is Category.FLOATING,
        "is_complex": kind is Category.COMPLEX,
        "is_signed": kind is not Category.BOOL and not dtype.startswith("uint"),
    }
    return properties.get(name)


def real_of(dtype: str) -> str:
    """The dtype of the components of a complex dtype; any other dtype itself (torch.real)."""
    return _REAL_OF.get(dtype, dtype)


def of_number(number: complex, default: str = STANDARD_DEFAULT) -> str:
    """The dtype of a Python number; that of a float is `torch.get_default_dtype`."""
    if isinstance(number, bool):
        return "bool"
    if isinstance(number, int):
        return "int64"
    return default if isinstance(number, float) else complex_of(default)


def promote(first_dtype: str, second_dtype: str) -> str:
    """The smallest dtype that holds the values of both (torch.promote_types).

    Raises `Contradiction` where torch refuses, `Undefined` where promotion is not defined.
    """
    promoted = PROMOTIONS.get((first_dtype, second_dtype))
    if promoted is not None or first_dtype == second_dtype:
        return promoted or first_dtype
    if any(dtype.startswith("float4") for dtype in (first_dtype, second_dtype)):
        raise Undefined
    kinds = "Float8 Types"
    if not any(dtype.startswith("float8") for dtype in (first_dtype, second_dtype)):
        floating = [
            dtype for dtype in (first_dtype, second_dtype) if category(dtype) is Category.FLOATING
        ]
        if floating:
            return floating[0]
        kinds = "uint16, uint32, uint64 types"
    raise Contradiction(
        "NC303",
        f"Promotion for {kinds} is not supported, attempted to promote {spoken(first_dtype)} and "
        f"{spoken(second_dtype)}",
        help="Cast one of the two with `.to(…)`.",
    )


def _combine(higher: str | None, lower: str | None) -> str | None:
    """The dtype of a group of operands and of those with lower priority."""
    if higher is None or lower is None:
        return higher or lower
    if category(higher) is Category.COMPLEX:
        return higher
    if category(higher) is Category.FLOATING:
        return complex_of(higher) if category(lower) is Category.COMPLEX else higher
    if category(lower) >= Category.FLOATING:
        return lower
    if category(higher) is Category.BOOL:
        return promote(higher, lower)
    return higher


def result_type(operands: Iterable[Operand]) -> str:
    """The dtype to which operands are promoted (tensor_attributes.rst; torch.result_type).

    The operands of the highest category decide; within a category those with dims have priority,
    then tensors without dims, then Python numbers.
    """
    groups: dict[Priority, str] = {}
    for operand in operands:
        dtype = groups.get(operand.priority)
        groups[operand.priority] = promote(dtype, operand.dtype) if dtype else operand.dtype
    combined: str | None = None
    for priority in Priority:
        combined = _combine(groups.get(priority), combined)
    if combined is None:
        raise Undefined
    return combined


def can_cast(dtype: str, out_dtype: str) -> bool:
    """Whether an output of one dtype accepts values of another (torch.can_cast)."""
    one, other = category(dtype), category(out_dtype)
    if one is Category.COMPLEX:
        return other is Category.COMPLEX
    if one is Category.FLOATING:
        return other >= Category.FLOATING
    return one is Category.BOOL or other is not Category.BOOL


_MOST: Final = 400


def each(question: Callable[..., str], *choices: Sequence[Any]) -> DType:
    """The results for all possible arguments; a contradiction only where every one has one.

    UNKNOWN where there are no possible arguments, or too many combinations.
    """
    if not 0 < math.prod(map(len, choices)) <= _MOST:
        return UNKNOWN
    answers: list[str] = []
    undefined: list[str | None] = []
    refusals: list[Contradiction] = []
    for chosen in itertools.product(*choices):
        try:
            answers.append(question(*chosen))
        except Undefined as doubt:
            undefined.append(doubt.dtype)
        except Contradiction as refusal:
            refusals.append(refusal.alone())
    if undefined and not answers:
        return UNKNOWN
    if not answers:
        raise refusals[0]
    return UNKNOWN if None in undefined else one_of((*answers, *filter(None, undefined)))
