"""What a row says that its arguments must be, in dtypes, and what torch says of others.

``index = "int32 int64; IndexError: …"`` tells which dtypes an argument must have;
``"input,weight" = "alike; …"`` that two must have one; the other words are those of `_RELATIONS`.
``dtype`` stands for the parameters of a layer. Behind the names may stand when it counts: ``target
below input`` if the one has a dim less than the other, ``target like input`` if it has as many,
``condition with input`` if the other is given, ``input,value by index`` where a tensor picks the
places that take several values, ``operands by equation`` where the equation of two sums over
what both have, ``input if affine reduction=mean min_val<0`` where all of that surely is so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Any, Final, NamedTuple

from namecheck.core import dtypes as attributes
from namecheck.core.dtypes import FLOATINGS, INTEGRALS, KINDS, Around, can_cast, promote, spoken
from namecheck.core.names import Answer, Contradiction
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Constant, Many, SomeNumber, Tensor
from namecheck.effects.dtype_words import (
    CATEGORIES,
    mean_of_integers,
    mismatch,
    negation_of_bools,
    said,
    stood_for,
    subtraction_of_bools,
)


class Need(NamedTuple):
    """One entry of `needs`: the arguments, when it counts, what they must be, torch's words."""

    names: tuple[str, ...]
    how: str
    other: str
    word: str
    allowed: frozenset[str]
    words: str


@cache
def read(names: str, need: str) -> Need:
    """An entry of `needs` of a row."""
    allowed, _, words = need.partition("; ")
    name, how, other = (*names.split(" ", 2), "", "")[:3]
    first, _, rest = allowed.partition(" ")
    word = first if first in _RELATIONS else ""
    dtypes = rest if word else allowed
    return Need(tuple(name.split(",")), how, other, word, stood_for(dtypes), words)


def fault_of(need: str) -> str | None:
    """What is wrong with what a row says that an argument must be, if anything is."""
    allowed, _, words = need.partition("; ")
    first, _, rest = allowed.partition(" ")
    for word in (rest if first in _RELATIONS else allowed).split():
        if word not in KINDS and word not in CATEGORIES:
            told = ", ".join(sorted(_RELATIONS))
            return f"needs: unknown word '{word}'; the words are {told}, and dtypes"
    return None if words or first in _OWN_WORDS else "needs: what torch says otherwise is missing"


def check(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse arguments that certainly are not of the dtypes that they must have."""
    if need.how and not _counts(need, arguments):
        return
    if need.word:
        _RELATIONS[need.word](need, arguments, around)
        return
    for tensor in tensors_in(arguments.get(need.names[0])):
        if attributes.is_among(tensor.dtype, need.allowed) is Answer.NO:
            given = attributes.possible(tensor.dtype)[0]
            raise _refused(need.words, given)


def _refused(words: str, dtype: str) -> Contradiction:
    error, text = said(words, dtype)
    return Contradiction(
        "NC304",
        text,
        error=error,
        help=f"The tensor is of dtype {dtype}: cast it with `.to(…)`.",
    )


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors in an argument; of a slice none."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Many):
        yield value.each
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part)


# When it counts


def _counts(need: Need, arguments: Mapping[str, Any]) -> bool:
    name, how, other = need.names[0], need.how, need.other
    if how == "if":
        return all(is_so(word, arguments) for word in other.split())
    if how == "by":
        by = arguments.get(other)
        if isinstance(by, str):
            return _contracts(by, arguments.get(name))
        return _picks(by, arguments.get(need.names[-1]))
    one, two = arguments.get(name), arguments.get(other)
    if how == "with":
        return two is not None
    if not isinstance(one, Tensor) or not isinstance(two, Tensor):
        return False
    if one.dims.rank is None or two.dims.rank is None:
        return False
    return one.dims.rank == two.dims.rank - (how == "below")


def is_so(word: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an argument surely is given and true, ``name=value``, or ``name<number``."""
    name, equals, value = word.partition("=")
    if equals:
        return str(arguments.get(name)) == value
    name, less, limit = word.partition("<")
    given = arguments.get(name)
    if isinstance(given, (Expression, SomeNumber)) or not isinstance(given, (bool, int, float)):
        return False
    return given < float(limit) if less else bool(given)


def _picks(index: Any, values: Any) -> bool:
    """Whether a tensor with dims is part of an index, and there are several values."""
    several = isinstance(values, Tensor) and values.dims.min_rank > 0
    return several and any(tensor.dims.min_rank for tensor in tensors_in(index))


def _contracts(equation: str, operands: Any) -> bool:
    """Whether an equation multiplies matrices: dims of size 1 are not summed over, but taken."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != 2 or not isinstance(operands, (tuple, list)) or len(operands) != 2:
        return False
    for letter in set(terms[0]) & set(terms[1]) - set(output) - {"."}:
        if not any(
            _is_single(operand, term, letter) for operand, term in zip(operands, terms, strict=True)
        ):
            return True
    return False


def _is_single(operand: Any, term: str, letter: str) -> bool:
    """Whether the dim of a letter is known to be of size 1."""
    if not isinstance(operand, Tensor) or operand.dims.rank != len(term):
        return False
    return operand.dims[term.index(letter)].size == 1


# What several must be


def _pair(names: Sequence[str], arguments: Mapping[str, Any]) -> tuple[Any, Any]:
    """The two that must be alike; of several tensors in one argument the first that differ."""
    if len(names) > 1:
        return _alike(names[0], arguments), _alike(names[1], arguments)
    every = list(tensors_in(arguments.get(names[0])))
    for tensor in every[1:]:
        if not attributes.may_be_one(every[0].dtype, tensor.dtype):
            return every[0], tensor
    return None, None


def _alike(name: str, arguments: Mapping[str, Any]) -> Any:
    """An argument; ``dtype`` stands for the parameters of a layer: of some floats if not told."""
    given = arguments.get(name)
    if name != "dtype":
        return given
    told = given.name if isinstance(given, Constant) and given.name in KINDS else None
    return Tensor(dtype=told or _OF_LAYERS)


_OF_LAYERS: Final = attributes.one_of(FLOATINGS | attributes.COMPLEXES)


def _check_alike(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse two tensors of different dtypes, where autocast does not make them alike."""
    one, other = _pair(need.names, arguments)
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return
    if attributes.may_be_one(one.dtype, other.dtype):
        return
    left, right = attributes.possible(one.dtype)[0], attributes.possible(other.dtype)[0]
    if around.autocast and {left, right} <= FLOATINGS:
        return
    error, text = said(need.words, left, right)
    raise mismatch(text, error)


_HALVES: Final = frozenset({"float16", "bfloat16"})


def _check_mixed(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse parameters of another float than the input: halves go with float32, too.

    Recorded: layer_norm, group_norm and batch_norm on the CPU, of all pairs of floats.
    """
    one, other = _pair(need.names, arguments)
    if around.autocast or not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return
    inputs, parameters = attributes.possible(one.dtype), attributes.possible(other.dtype)
    if not inputs or not parameters or not FLOATINGS.issuperset(inputs):
        return
    pairs = [(left, right) for left in inputs for right in parameters]
    if any(left == right or (left in _HALVES and right == "float32") for left, right in pairs):
        return
    if parameters[0] == "float32":
        raise mismatch("mixed dtype (CPU): all inputs must share same datatype.")
    raise mismatch("mixed dtype (CPU): expect parameter to have scalar type of Float")


def _promotions(need: Need, arguments: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The dtypes that the tensors of a relation may have; none where one is not known."""
    tensors = [arguments.get(name) for name in need.names]
    chosen: list[tuple[str, ...]] = [()]
    for tensor in tensors:
        dtypes = attributes.possible(tensor.dtype) if isinstance(tensor, Tensor) else ()
        chosen = [(*c, each) for c in chosen for each in dtypes if not KINDS[each].shell]
    return chosen


def _check_some(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse tensors of which certainly none has one of some dtypes."""
    chosen = _promotions(need, arguments)
    if chosen and not any(need.allowed.intersection(dtypes) for dtypes in chosen):
        raise _refused(need.words, reduce(promote, chosen[0]))


def _check_subtracted(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse bools where torch subtracts."""
    bools = [_is_bool(_alike(name, arguments)) for name in need.names]
    if any(bools):
        raise subtraction_of_bools(both=all(bools))


def _check_negated(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse bools where torch negates."""
    if _is_bool(arguments.get(need.names[0])):
        raise negation_of_bools()


def _is_bool(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype == "bool"


def _check_averaged(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse integers where torch takes the mean of what is computed of the tensors."""
    chosen = _promotions(need, arguments)
    if chosen and all(INTEGRALS.issuperset(dtypes) for dtypes in chosen):
        raise mean_of_integers(reduce(promote, chosen[0]))


def _check_taken(need: Need, arguments: Mapping[str, Any], around: Around) -> None:
    """Refuse a first tensor that does not take what is computed of it and the others."""
    chosen = _promotions(need, arguments)
    wrong = [d for d in chosen if not can_cast(reduce(promote, d), d[0])]
    if chosen and len(wrong) == len(chosen):
        common = reduce(promote, wrong[0])
        text = f"result type {spoken(common)} can't be cast to the desired output type "
        raise mismatch(text + spoken(wrong[0][0]))


_RELATIONS: Final[dict[str, Callable[[Need, Mapping[str, Any], Around], None]]] = {
    "alike": _check_alike,
    "averaged": _check_averaged,
    "mixed": _check_mixed,
    "negated": _check_negated,
    "some": _check_some,
    "subtracted": _check_subtracted,
    "takes": _check_taken,
}
# Those of which torch says the same everywhere.
_OWN_WORDS: Final = ("averaged", "mixed", "negated", "subtracted", "takes")
