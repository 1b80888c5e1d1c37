"""What the elements of a result are: one mechanism that reads the row of an operator.

The row tells in `dtype` what becomes of the dtypes of the operands: a dtype, or a word of
`dtype_words` with the parameters that count, as ``promotes(input,min,max)``; of
several results each has its word, and an argument may choose one
(``return_complex?True=complex|False=first``). `needs` tells which dtypes an argument must have
(`needs`); `lacks` which kernel torch does not have for some dtypes or categories
(``"bitwise_and_cpu: floating complex"``), or what it says of them where it computes in one
(``"complex; max(): does not support complex input"``). All of it is held
against torch 2.13 by tests/runtime/test_dtype_agreement.py and test_dtype_rows.py.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from namecheck.core import dtypes as attributes
from namecheck.core.dims import Dims
from namecheck.core.dtypes import (
    FLOATINGS,
    INTEGRALS,
    KINDS,
    STANDARD,
    Around,
    DType,
    Operand,
    Priority,
)
from namecheck.core.names import UNKNOWN, Answer, Contradiction
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Constant, Many, SomeNumber, Tensor
from namecheck.effects import needs, outputs
from namecheck.effects.dtype_words import WORDS, Word, fixed, said, stood_for
from namecheck.effects.needs import Need


@dataclass(frozen=True, slots=True)
class Typing:
    """What the row of an operator tells of dtypes."""

    dtype: str = ""
    needs: tuple[Need, ...] = ()
    lacks: str = ""
    into: str = ""
    layer: bool = False


def of_result(
    answer: Any,
    row: Typing,
    arguments: Mapping[str, Any],
    around: Around,
    target: Any = None,
) -> DType | list[DType]:
    """The dtype of a result, of several results a list; raises `Contradiction` where torch refuses.

    `target` is the tensor that is written to, in place or as ``out=``, if there is one. The last
    word holds for all further results.
    """
    for need in row.needs:
        needs.check(need, arguments, around)
    words = (_chosen(row.dtype, arguments) if "?" in row.dtype else row.dtype).split()
    if not words:
        return _of_asked(arguments)
    if isinstance(answer, (tuple, list)):
        every = (words + words[-1:] * len(answer))[: len(answer)]
        written = target if isinstance(target, (tuple, list)) else ()
        return [
            _of_one(
                word,
                _Part(place, "" if place else row.lacks, row.into, row.layer),
                arguments,
                around,
                to,
            )
            for place, (word, to) in enumerate(itertools.zip_longest(every, written[: len(every)]))
        ]
    return _of_one(words[0], _Part(0, row.lacks, row.into, row.layer), arguments, around, target)


def _chosen(words: str, arguments: Mapping[str, Any]) -> str:
    """The word that an argument chooses, as ``reduction?max=first|sum=sums``; "" for other ones."""
    name, choices = _choices_of(words)
    return choices.get(str(arguments.get(name)), "")


@cache
def _choices_of(words: str) -> tuple[str, dict[str, str]]:
    name, _, choices = words.partition("?")
    return name, {given: word for given, _, word in (c.partition("=") for c in choices.split("|"))}


class _Part(NamedTuple):
    """What a row tells of one of its results, besides the word for its dtype."""

    place: int
    lacks: str
    into: str
    layer: bool


def _of_one(
    word: str, part: _Part, arguments: Mapping[str, Any], around: Around, target: Any
) -> DType:
    written = target.dtype if isinstance(target, Tensor) else UNKNOWN
    dtype = _dtype(word, part, arguments, around, written)
    _check_gradient(arguments, dtype, in_place=target is not None)
    return dtype


def _of_asked(arguments: Mapping[str, Any]) -> DType:
    """The dtype that the call asks for, where the row tells nothing."""
    asked = arguments.get("dtype")
    return (isinstance(asked, Constant) and _asked(asked)) or UNKNOWN


def _asking(arguments: Mapping[str, Any]) -> Any:
    """What asks for a dtype: ``dtype=``, or ``out_int32=True``; None where nothing does."""
    narrow = arguments.get("out_int32", False)
    if narrow is False:
        return arguments.get("dtype")
    return Constant("dtype", "int32") if narrow is True else UNKNOWN


def _asked(asked: Any) -> str | None:
    """The dtype that is asked for, also by the name of an old class: ``torch.FloatTensor``."""
    if isinstance(asked, Constant):
        return asked.name if asked.name in KINDS else None
    if isinstance(asked, str):
        return _OF_CLASSES.get(asked.rpartition(".")[2])
    return None


_OF_CLASSES: Final = {f"{kind.spoken}Tensor": name for name, kind in KINDS.items()}


def _check_class(word: str) -> None:
    """Refuse a string that is not the name of an old class, or is spelt much like one."""
    module, _, name = word.rpartition(".")
    near = difflib.get_close_matches(name, _OF_CLASSES, 1, _CLOSE) if module == "torch" else ()
    if near and not name.startswith("Q"):  # quantized
        text, help_ = f"invalid type: '{word}'", f"Did you mean 'torch.{near[0]}'?"
        raise Contradiction("NC306", text, error="ValueError", help=help_)
    if not word.startswith("torch."):
        raise attributes.misspelt(word, f"invalid type: '{word}'", "ValueError")


# How much alike a misspelt class must be to one of torch.
_CLOSE: Final = 0.85


def _dtype(
    word: str, part: _Part, arguments: Mapping[str, Any], around: Around, written: DType
) -> DType:
    """The dtype of a result by one word of the row."""
    told, names = _read(word)
    asked = None if part.layer and names else _asking(arguments)
    if asked is not None and _asked(asked) is None:
        if isinstance(asked, str):
            _check_class(asked)
        return UNKNOWN
    operands = _operands(names, arguments, around)
    if around.autocast and any(_may_float(choice) for choice in operands):
        return _asked(asked) or told.constant or UNKNOWN
    if not told.takes(len(operands)):
        return _asked(asked) or UNKNOWN
    if () in operands:
        settled = _asked(asked) or told.constant
        return UNKNOWN if settled is None else _written(settled, told, part, asked, written)
    return _evaluated(
        word,
        part,
        _asked(asked),
        attributes.possible(around.default),
        attributes.possible(written) or (None,),
        tuple(operands),
    )


def _written(dtype: str, told: Word, part: _Part, asked: Any, written: DType) -> DType:
    """A dtype that is settled, whatever the operands are, if what is written to takes it."""
    taking = outputs.taking(part.into, told.into, part.place)

    def question(target: str | None) -> str:
        if target is not None:
            outputs.check(taking, dtype, dtype, target, asked=asked is not None)
        return dtype

    return attributes.each(question, attributes.possible(written) or (None,))


def _may_float(choice: Sequence[Operand]) -> bool:
    return not choice or any(operand.dtype in FLOATINGS for operand in choice)


@cache
def _evaluated(
    word: str,
    part: _Part,
    asked: str | None,
    defaults: tuple[str, ...],
    targets: tuple[str | None, ...],
    operands: tuple[tuple[Operand, ...], ...],
) -> DType:
    told, _ = _read(word)
    taking = outputs.taking(part.into, told.into, part.place)

    def question(default: str, target: str | None, *chosen: Operand) -> str:
        if asked is None:
            common, result = told.ask(default, chosen)
        else:
            common = result = asked
        if target is not None:
            outputs.check(taking, common, result, target, asked=asked is not None)
        _check_kernel(part.lacks, common)
        return result

    return attributes.each(question, defaults, targets, *operands)


@cache
def _read(word: str) -> tuple[Word, tuple[str, ...]]:
    """A word of a row: what becomes of dtypes, and the parameters whose dtypes count."""
    name, _, names = word.removesuffix(")").partition("(")
    told = WORDS.get(name) or fixed(name)
    return told, tuple(names.split(",")) if names else told.operands


def words_of(told: str) -> list[str]:
    """The words that a row tells, also those that an argument chooses from."""
    return [
        word
        for each in told.split()
        for word in (_choices_of(each)[1].values() if "?" in each else (each,))
    ]


def fault_of(told: str) -> str | None:
    """What is wrong with the words of a row, if anything is."""
    for word in words_of(told):
        name = word.partition("(")[0]
        if name not in WORDS and name not in KINDS:
            return f"dtype: unknown word '{name}'; the words are {', '.join(sorted(WORDS))}"
    return None


def operands_of(value: Any, around: Around = STANDARD) -> Iterator[tuple[Operand, ...]]:
    """What each tensor and each number in an argument may be; () where nothing is known."""
    if value is None or isinstance(value, str):
        return
    if isinstance(value, Tensor):
        yield _of_tensor(value)
    elif isinstance(value, Many):
        single = isinstance(value.each.dtype, str)
        yield _of_tensor(value.each) if single else ()
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from operands_of(part, around)
    elif isinstance(value, Expression):
        yield (Operand("int64", Priority.SCALAR),)
    elif isinstance(value, (bool, int, float, complex)):
        yield tuple(_of_number(value, around))
    else:
        yield ()


def _operands(
    names: Sequence[str], arguments: Mapping[str, Any], around: Around
) -> list[tuple[Operand, ...]]:
    """What each tensor and each number in some arguments may be; mostly one tensor is in each."""
    found: list[tuple[Operand, ...]] = []
    for name in names:
        value = arguments.get(name)
        if isinstance(value, Tensor):
            found.append(_of_tensor(value))
        elif value is not None:
            found.extend(operands_of(value, around))
    return found


def _of_tensor(tensor: Tensor) -> tuple[Operand, ...]:
    return _choices(tensor.dtype, _priorities(tensor.dims))


@cache
def _choices(dtype: DType, priorities: tuple[Priority, ...]) -> tuple[Operand, ...]:
    return tuple(
        Operand(each, priority) for each in attributes.possible(dtype) for priority in priorities
    )


def _priorities(dims: Dims) -> tuple[Priority, ...]:
    if dims.prefix or dims.suffix:
        return _DIMENSIONED
    return _EITHER if dims.open else _ZERO_DIM


_DIMENSIONED: Final = (Priority.DIMENSIONED,)
_ZERO_DIM: Final = (Priority.ZERO_DIM,)
_EITHER: Final = (Priority.DIMENSIONED, Priority.ZERO_DIM)


def _of_number(value: complex, around: Around) -> Iterator[Operand]:
    for number in value.examples if isinstance(value, SomeNumber) else (value,):
        for default in attributes.possible(around.default):
            yield Operand(attributes.of_number(number, default), Priority.SCALAR)


def misspelt(operator: str, arguments: Mapping[str, Any]) -> Contradiction | None:
    """What torch says of a dtype that is given as a string; None where none is."""
    word = arguments.get("dtype")
    if not isinstance(word, str):
        return None
    text = f"{operator}(): argument 'dtype' must be torch.dtype, not str"
    return attributes.misspelt(word, text)


def _check_kernel(lacks: str, common: str) -> None:
    """Refuse dtypes of which the row says that torch has no kernel, or what it says of them."""
    if "; " in lacks:
        dtypes, _, words = lacks.partition("; ")
    else:
        kernel, _, dtypes = lacks.partition(": ")
        words = f"NotImplementedError: \"{kernel}\" not implemented for '{{spoken[0]}}'"
    if not dtypes or common not in stood_for(dtypes):
        return
    error, text = said(words, common)
    raise Contradiction(
        "NC304",
        text,
        error=error,
        help="Cast the input with `.to(…)` to a dtype that the operator has.",
    )


def _check_gradient(arguments: Mapping[str, Any], dtype: DType, *, in_place: bool) -> None:
    if arguments.get("requires_grad") is True:
        refusal = without_gradient(dtype, in_place=in_place)
        if refusal is not None:
            raise refusal


def without_gradient(dtype: DType, *, in_place: bool = False) -> Contradiction | None:
    """What torch says of integers that require a gradient (recorded: requires_grad_, zeros)."""
    if attributes.is_among(dtype, INTEGRALS) is not Answer.YES:
        return None
    return Contradiction(
        "NC307",
        "only Tensors of floating point dtype can require gradients"
        if in_place
        else "Only Tensors of floating point and complex dtype can require gradients",
        help="Make the tensor of a floating dtype.",
    )
