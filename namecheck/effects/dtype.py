"""The dtype of a result: one mechanism that reads the dtype columns of a row.

The column `dtype` has the dtype of the result: a dtype, or a word of `dtype_words` with the
parameters that count, as ``promotes(input,min,max)``; several results have a word each, and an
argument may choose one (``return_complex?True=complex|False=first``). `needs` lists the dtypes that
an argument must have (`needs`); `lacks` the kernel that torch lacks for some dtypes or categories
(``"bitwise_and_cpu: floating complex"``), or its error for them where it computes in one
(``"complex; max(): does not support complex input"``). tests/runtime/test_dtype_agreement.py and
test_dtype_rows.py compare all of it with torch 2.13.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from namecheck.core import dtypes
from namecheck.core.dataclasses import dataclass
from namecheck.core.devices import may_be_meta
from namecheck.core.dtypes import FLOATINGS, INTEGRALS, KINDS, Defaults, DType, Operand
from namecheck.core.names import UNKNOWN, Answer, Contradiction
from namecheck.core.promotion import operand_of
from namecheck.core.tensors import Constant, Tensor
from namecheck.effects import needs, outputs
from namecheck.effects.dtype_words import CATEGORIES, WORDS, DtypeWord, dtypes_of, fixed
from namecheck.effects.needs import Need
from namecheck.effects.operands import Operands
from namecheck.effects.outputs import Output, OutputEffect
from namecheck.effects.words import (
    Choice,
    Item,
    Message,
    ParameterNames,
    Word,
    WordError,
    check_parameters,
    read_cell,
    read_conditional,
    read_items,
    words_in,
)


@dataclass(frozen=True, eq=False, slots=True)
class ResultDtype:
    """The dtype effect of a row on one result; `parameters` are those whose dtypes count.

    `lacks` are the dtypes without a kernel, `refusal` is torch's error for them. `asks` is whether
    the call may request the dtype. Two effects with the same text are one object (`_result`), so
    that caches may use its identity.
    """

    word: DtypeWord
    parameters: tuple[str, ...]
    output: OutputEffect
    lacks: frozenset[str]
    refusal: Message | None
    asks: bool


@dataclass(frozen=True, slots=True)
class ChosenDtype:
    """The dtype effect on one result, chosen by the value of an argument as text."""

    parameter: str
    results: Mapping[str, ResultDtype]


@dataclass(frozen=True, slots=True)
class DtypeEffect:
    """The dtype effect of a row, for one overload; the last of `results` holds for all further."""

    results: tuple[ResultDtype | ChosenDtype, ...] = ()
    needs: tuple[Need, ...] = ()

    @property
    def parameters(self) -> set[str]:
        """All parameters whose dtypes count."""
        every = [_alternatives(result) for result in self.results]
        named = {name for results in every for result in results for name in result.parameters}
        return named.union(*(need.walked for need in self.needs))


def _alternatives(result_dtype: ResultDtype | ChosenDtype) -> Collection[ResultDtype]:
    return (
        result_dtype.results.values() if isinstance(result_dtype, ChosenDtype) else (result_dtype,)
    )


def read(
    text: str, needed: Mapping[str, str], lacks: str, into: str, *, is_layer: bool
) -> DtypeEffect:
    """Read the columns `dtype`, `needs`, `lacks` and `into`, of a layer or a function."""
    items = read_items(text)
    # The kernel is that of the first result; for further results torch may have another error.
    count = max(len(items), len(read_conditional(into)[0].messages), 2 if lacks else 1)
    results = [
        _of_item(items[min(place, len(items) - 1)], place, "" if place else lacks, into, is_layer)
        for place in range(count if items else 0)
    ]
    return DtypeEffect(
        tuple(results), tuple(needs.read(subject, need) for subject, need in needed.items())
    )


def _of_item(
    clause: Item, place: int, lacks: str, into: str, is_layer: bool
) -> ResultDtype | ChosenDtype:
    if isinstance(clause, Word):
        return _result(clause, place, lacks, into, is_layer)
    chosen = {value: _result(word, place, lacks, into, is_layer) for value, word in clause.words}
    return ChosenDtype(clause.parameter, MappingProxyType(chosen))


@cache
def _result(column_word: Word, place: int, lacks: str, into: str, is_layer: bool) -> ResultDtype:
    meaning = WORDS.get(column_word.name) or fixed(column_word.name)
    parameters = column_word.arguments or meaning.parameters
    kernel = read_cell(lacks)
    refusal = kernel.message()
    if kernel.kernel:
        text = f"\"{kernel.kernel}\" not implemented for '{{spoken[0]}}'"
        refusal = Message("NotImplementedError", text)
    return ResultDtype(
        meaning,
        parameters,
        outputs.read(into, meaning.into, place),
        dtypes_of(each.name for each in words_in(kernel.items)),
        refusal,
        not (is_layer and parameters),
    )


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `dtype`; raises `WordError`."""
    items = read_items(text)
    choices = [item.parameter for item in items if isinstance(item, Choice)]
    check_parameters(choices, parameters)
    for word in words_in(items):
        meaning = WORDS.get(word.name)
        if meaning is None and word.name not in KINDS:
            raise WordError(f"unknown word '{word.name}'", (*sorted(WORDS), *KINDS))
        check_parameters(word.arguments, parameters)
        if parameters is None or meaning is None or meaning.bare or word.arguments:
            continue
        if not any(name in parameters for name in meaning.parameters):
            missing = " nor ".join(f"'{name}'" for name in meaning.parameters)
            raise WordError(
                f"'{word.name}' needs its parameters: there is neither {missing}",
                sorted(parameters),
                "parameters",
            )


def check_kernel(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `lacks`; raises `WordError`."""
    lacks = read_cell(text)
    for word in words_in(lacks.items):
        if word.name not in KINDS and word.name not in CATEGORIES:
            raise WordError(f"unknown word '{word.name}'", (*CATEGORIES, *KINDS))
    if text and not lacks.kernel and not lacks.messages:
        raise WordError("the kernel, or the error of torch, is missing")


def of_result(
    answer: Any,
    effect: DtypeEffect,
    call_operands: Operands,
    defaults: Defaults,
    target: Any = None,
) -> DType | list[DType]:
    """The dtype of a result, of several a list; raises `Contradiction` where torch refuses.

    `target` is the tensor that is written to, in place or as ``out=``, if there is one.
    """
    on_meta = _on_meta(call_operands, defaults) or _is_meta(target, defaults)
    try:
        for need in effect.needs:
            needs.check(need, call_operands, defaults)
    except Contradiction:
        if not on_meta:
            raise
        return UNKNOWN
    if not effect.results:
        return _of_asked(call_operands.arguments)
    if not isinstance(answer, (tuple, list)):
        return _of_one(effect.results[0], call_operands, defaults, target, on_meta)
    targets = target if isinstance(target, (tuple, list)) else ()
    last = len(effect.results) - 1
    return [
        _of_one(
            effect.results[min(place, last)],
            _at(place, len(answer), effect.results[0], call_operands),
            defaults,
            out,
            on_meta,
        )
        for place, (_, out) in enumerate(itertools.zip_longest(answer, targets[: len(answer)]))
    ]


def _on_meta(call_operands: Operands, defaults: Defaults) -> bool:
    """Whether an operand may be on the meta device.

    torch computes no elements there, so it has no kernel that could lack a dtype; and whether it
    makes the other checks of an operator depends on how that is implemented.
    """
    for leaves in call_operands.leaves.values():
        for leaf in leaves:
            if _is_meta(leaf, defaults):
                return True
    return False


def _is_meta(operand: Any, defaults: Defaults) -> bool:
    return isinstance(operand, Tensor) and may_be_meta(operand.device, if_unknown=defaults.meta)


def _at(
    place: int, count: int, result_dtype: ResultDtype | ChosenDtype, call_operands: Operands
) -> Operands:
    """The operands of the result at a place: all, or the one at that place (the word ``each``)."""
    if isinstance(result_dtype, ChosenDtype) or not result_dtype.word.each:
        return call_operands
    leaves = {
        parameter: parts[place : place + 1] if len(parts) == count else (UNKNOWN,)
        for parameter, parts in call_operands.leaves.items()
    }
    return Operands(call_operands.arguments, leaves, call_operands.single)


def _of_one(
    result_dtype: ResultDtype | ChosenDtype,
    call_operands: Operands,
    defaults: Defaults,
    target: Any,
    on_meta: bool,
) -> DType:
    if isinstance(result_dtype, ChosenDtype):
        chosen = result_dtype.results.get(str(call_operands.arguments.get(result_dtype.parameter)))
        if chosen is None:
            return _of_asked(call_operands.arguments)
        result_dtype = chosen
    out = target.dtype if isinstance(target, Tensor) and not on_meta else UNKNOWN
    dtype = _dtype(result_dtype, call_operands, defaults, out, on_meta)
    if call_operands.arguments.get("requires_grad") is True:
        refusal = without_gradient(dtype, in_place=target is not None)
        if refusal is not None:
            raise refusal
    return dtype


def _of_asked(arguments: Mapping[str, Any]) -> DType:
    """The dtype that the call requests, where the row has none."""
    argument = arguments.get("dtype")
    return (isinstance(argument, Constant) and _named(argument)) or UNKNOWN


def _asking(arguments: Mapping[str, Any]) -> Any:
    """The argument that requests a dtype: ``dtype=``, or ``out_int32=True``; None without one."""
    narrow = arguments.get("out_int32", False)
    if narrow is False:
        return arguments.get("dtype")
    return Constant("dtype", "int32") if narrow is True else UNKNOWN


def _named(argument: Any) -> str | None:
    """The requested dtype, also by the name of an old class: ``torch.FloatTensor``."""
    if isinstance(argument, Constant):
        return argument.name if argument.name in KINDS else None
    if isinstance(argument, str):
        return _OF_CLASSES.get(argument.rpartition(".")[2])
    return None


_OF_CLASSES: Final = MappingProxyType(
    {f"{kind.spoken}Tensor": name for name, kind in KINDS.items()}
)


def _check_class(word: str) -> None:
    """Refuse a string that is a misspelling of an old class, or certainly none."""
    module, _, name = word.rpartition(".")
    import difflib

    near = difflib.get_close_matches(name, _OF_CLASSES, 1, _CLOSE) if module == "torch" else ()
    if near and not name.startswith("Q"):  # quantized
        text, help_ = f"invalid type: '{word}'", f"Did you mean 'torch.{near[0]}'?"
        raise Contradiction("NC306", text, error="ValueError", help=help_)
    if not word.startswith("torch."):
        raise dtypes.misspelt(word, f"invalid type: '{word}'", "ValueError")


# The least similarity of a misspelt class to one of torch.
_CLOSE: Final = 0.85


def _dtype(
    result_dtype: ResultDtype,
    call_operands: Operands,
    defaults: Defaults,
    out_dtype: DType,
    on_meta: bool,
) -> DType:
    """The dtype of one result."""
    asking = _asking(call_operands.arguments) if result_dtype.asks else None
    requested = None if asking is None else _named(asking)
    if asking is not None and requested is None:
        if isinstance(asking, str):
            _check_class(asking)
        return UNKNOWN
    word, accepts = result_dtype.word, result_dtype.output.possible(call_operands.arguments)
    request = None if requested is None else word.requested(requested)
    choices = [
        operand_of(leaf, defaults)
        for parameter in result_dtype.parameters
        for leaf in call_operands.leaves[parameter]
        if not isinstance(leaf, str)
    ]
    if defaults.autocast and any(_may_float(choice) for choice in choices):
        return request or word.constant or UNKNOWN
    if not choices and not word.bare:
        return request or UNKNOWN
    if () in choices:
        settled = request or word.constant
        return UNKNOWN if settled is None else _settled(settled, accepts, request, out_dtype)
    return _evaluated(
        result_dtype,
        accepts,
        request,
        dtypes.possible(defaults.dtype),
        dtypes.possible(out_dtype) or (None,),
        tuple(choices),
        on_meta,
    )


def _settled(
    dtype: str, accepts: tuple[Output, ...], asked_dtype: str | None, out_dtype: DType
) -> DType:
    """A dtype that does not depend on the operands, if the target accepts it."""

    def question(out_dtype: str | None) -> str:
        if out_dtype is not None:
            outputs.check(accepts, dtype, dtype, out_dtype, requested=asked_dtype is not None)
        return dtype

    return dtypes.each(question, dtypes.possible(out_dtype) or (None,))


def _may_float(choice: Sequence[Operand]) -> bool:
    return not choice or any(operand.dtype in FLOATINGS for operand in choice)


@cache
def _evaluated(
    result_dtype: ResultDtype,
    accepts: tuple[Output, ...],
    asked_dtype: str | None,
    default_dtypes: tuple[str, ...],
    targets: tuple[str | None, ...],
    operand_choices: tuple[tuple[Operand, ...], ...],
    on_meta: bool,
) -> DType:
    def question(default: str, out_dtype: str | None, *combination: Operand) -> str:
        if asked_dtype is None:
            common, dtype = result_dtype.word.ask(default, combination)
        else:
            common = dtype = asked_dtype
        if out_dtype is not None:
            outputs.check(accepts, common, dtype, out_dtype, requested=asked_dtype is not None)
        if common in result_dtype.lacks:
            raise _without_kernel(result_dtype.refusal, common)
        return dtype

    try:
        return dtypes.each(question, default_dtypes, targets, *operand_choices)
    except Contradiction:
        if not on_meta:
            raise
        return UNKNOWN


def _without_kernel(refusal: Message | None, dtype: str) -> Contradiction:
    error, text = (refusal or _NO_MESSAGE).about(dtype)
    return Contradiction(
        "NC304",
        text,
        error=error,
        help="Cast the input with `.to(…)` to a dtype that the operator has.",
    )


_NO_MESSAGE: Final = Message("RuntimeError", "")


def misspelt(operator: str, arguments: Mapping[str, Any]) -> Contradiction | None:
    """The error of torch for a dtype argument that is a string; None where there is none."""
    word = arguments.get("dtype")
    if not isinstance(word, str):
        return None
    text = f"{operator}(): argument 'dtype' must be torch.dtype, not str"
    return dtypes.misspelt(word, text)


def without_gradient(dtype: DType, *, in_place: bool = False) -> Contradiction | None:
    """The error of torch for integers that require a gradient (recorded: requires_grad_, zeros)."""
    if dtypes.is_among(dtype, INTEGRALS) is not Answer.YES:
        return None
    return Contradiction(
        "NC307",
        "only Tensors of floating point dtype can require gradients"
        if in_place
        else "Only Tensors of floating point and complex dtype can require gradients",
        help="Make the tensor of a floating dtype.",
    )
