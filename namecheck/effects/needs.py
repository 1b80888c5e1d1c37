"""The column `needs` of a row: the dtypes that arguments must have, and torch's errors for others.

``index = "int32 int64; IndexError: …"`` lists the dtypes that an argument must have;
``"input,weight" = "alike; …"`` says that two must have the same; `_RELATIONS` has the other words.
``dtype`` means the parameters of a layer. A condition may follow the names: ``target below input``
if the one has one dim fewer than the other, ``target like input`` if it has as many, ``condition
with input`` if the other is passed, ``input,value by index`` if a tensor selects the positions that
several values are written to, ``operands by equation`` if the equation of two operands sums over
letters of both, ``input if affine and min_val < 0`` if this condition certainly holds
(`namecheck.effects.conditions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, reduce
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from namecheck.core import dtypes
from namecheck.core.dataclasses import dataclass
from namecheck.core.dtypes import FLOATINGS, INTEGRALS, KINDS, Defaults, can_cast, promote, spoken
from namecheck.core.names import Answer, Contradiction
from namecheck.core.tensors import Constant, Tensor
from namecheck.effects import conditions
from namecheck.effects.dtype_words import (
    CATEGORIES,
    dtypes_of,
    mean_of_integers,
    mismatch,
    negation_of_bools,
    subtraction_of_bools,
)
from namecheck.effects.operands import Operands
from namecheck.effects.words import (
    Message,
    ParameterNames,
    Subject,
    WordError,
    check_parameters,
    read_cell,
    read_subject,
    words_in,
)


@dataclass(frozen=True, slots=True)
class Need:
    """One entry of `needs`: the arguments, the relation or the dtypes, and torch's error."""

    subject: Subject
    relation: str
    allowed: frozenset[str]
    message: Message

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters whose dtypes count."""
        return self.subject.parameters

    @property
    def walked(self) -> tuple[str, ...]:
        """The parameters whose operands count."""
        return (*self.parameters, self.subject.other) if self.subject.other else self.parameters


@cache
def read(subject: str, text: str) -> Need:
    """Read an entry of `needs` of a row."""
    need = read_cell(text)
    names = [word.name for word in words_in(need.items)]
    relation = names[0] if names[0] in _RELATIONS else ""
    allowed = dtypes_of(names[1:] if relation else names)
    return Need(read_subject(subject), relation, allowed, need.message() or _NO_MESSAGE)


_NO_MESSAGE: Final = Message("RuntimeError", "")


def check_entry(subject_text: str, text: str, parameters: ParameterNames | None) -> None:
    """Check an entry of `needs`; raises `WordError`."""
    need = read_cell(text)
    names = [word.name for word in words_in(need.items)]
    relation = names[0] if names and names[0] in _RELATIONS else ""
    for name in names[bool(relation) :]:
        if name not in KINDS and name not in CATEGORIES:
            raise WordError(f"unknown word '{name}'", (*_RELATIONS, *CATEGORIES, *KINDS))
    if not names:
        raise WordError("the dtypes are missing", (*_RELATIONS, *CATEGORIES, *KINDS))
    if not need.messages and relation not in _OWN_MESSAGES:
        raise WordError("the error of torch for other dtypes is missing")
    subject = read_subject(subject_text)
    if subject.condition is not None:
        conditions.check(subject.condition)
    check_parameters((name for name in subject.named if name != "dtype"), parameters)


def check(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse arguments that certainly do not have the dtypes that they must have."""
    if need.subject.relation and not _counts(need.subject, call_operands):
        return
    if need.relation:
        _RELATIONS[need.relation](need, call_operands, defaults)
        return
    for tensor in call_operands.tensors(need.parameters[:1]):
        if dtypes.is_among(tensor.dtype, need.allowed) is Answer.NO:
            raise _refused(need.message, dtypes.possible(tensor.dtype)[0])


def _refused(message: Message, dtype: str) -> Contradiction:
    error, text = message.about(dtype)
    return Contradiction(
        "NC304",
        text,
        error=error,
        help=f"The tensor is of dtype {dtype}: cast it with `.to(…)`.",
    )


# Conditions


def _counts(subject: Subject, call_operands: Operands) -> bool:
    relation, arguments = subject.relation, call_operands.arguments
    if relation == "if":
        return subject.condition is not None and conditions.holds(subject.condition, arguments)
    if relation == "with":
        return arguments.get(subject.other) is not None
    first, *_, last = (subject.parameters[0], *subject.parameters)
    single, other = call_operands.single, call_operands.single.get(subject.other)
    if relation == "by":
        if isinstance(other, str):
            return _contracts(other, call_operands.leaves[first])
        return _picks(call_operands.tensors((subject.other,)), single.get(last))
    operand = single.get(first)
    if not isinstance(operand, Tensor) or not isinstance(other, Tensor):
        return False
    if operand.dims.rank is None or other.dims.rank is None:
        return False
    return operand.dims.rank == other.dims.rank - (relation == "below")


def _picks(indices: list[Tensor], picked: Any) -> bool:
    """Whether a tensor with dims is part of an index, and there are several values."""
    several = isinstance(picked, Tensor) and picked.dims.min_rank > 0
    return several and any(tensor.dims.min_rank for tensor in indices)


def _contracts(equation: str, matrices: tuple[Any, ...]) -> bool:
    """Whether an equation multiplies matrices: torch does not sum over dims of size 1."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != 2 or len(matrices) != 2:
        return False
    for letter in set(terms[0]) & set(terms[1]) - set(output) - {"."}:
        if not any(
            _is_single(factor, term, letter) for factor, term in zip(matrices, terms, strict=True)
        ):
            return True
    return False


def _is_single(factor: Any, term: str, letter: str) -> bool:
    """Whether the dim of a letter certainly has size 1."""
    if not isinstance(factor, Tensor) or factor.dims.rank != len(term):
        return False
    return factor.dims[term.index(letter)].size == 1


# Relations between several arguments


def _pair(need: Need, call_operands: Operands) -> tuple[Any, Any]:
    """The two tensors that must be alike; for several in one argument the first that differ."""
    if len(need.parameters) > 1:
        one, other = need.parameters[:2]
        return _operand(one, call_operands), _operand(other, call_operands)
    first, *further = call_operands.tensors(need.parameters) or (None,)
    for tensor in further:
        if first is not None and not dtypes.may_be_one(first.dtype, tensor.dtype):
            return first, tensor
    return None, None


def _operand(parameter: str, call_operands: Operands) -> Any:
    """An operand; ``dtype`` means the parameters of a layer, which have some floating dtype."""
    argument = call_operands.single.get(parameter)
    if parameter != "dtype":
        return argument
    if isinstance(argument, Constant) and argument.name in KINDS:
        return Tensor(dtype=argument.name)
    return Tensor(dtype=_OF_LAYERS)


_OF_LAYERS: Final = dtypes.one_of(FLOATINGS | dtypes.COMPLEXES)


def _check_alike(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse two tensors of different dtypes, where autocast does not unify them."""
    one, other = _pair(need, call_operands)
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return
    if dtypes.may_be_one(one.dtype, other.dtype):
        return
    pair = dtypes.possible(one.dtype)[0], dtypes.possible(other.dtype)[0]
    if defaults.autocast and FLOATINGS.issuperset(pair):
        return
    error, text = need.message.about(*pair)
    raise mismatch(text, error)


_HALVES: Final = frozenset({"float16", "bfloat16"})


def _check_mixed(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse parameters of another floating dtype than the input's: half with float32 is allowed.

    Recorded: layer_norm, group_norm and batch_norm on the CPU, of all pairs of floats.
    """
    one, other = _pair(need, call_operands)
    if defaults.autocast or not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return
    inputs, parameters = dtypes.possible(one.dtype), dtypes.possible(other.dtype)
    if not inputs or not parameters or not FLOATINGS.issuperset(inputs):
        return
    pairs = [(own, dtype) for own in inputs for dtype in parameters]
    if any(own == dtype or (own in _HALVES and dtype == "float32") for own, dtype in pairs):
        return
    if parameters[0] == "float32":
        raise mismatch("mixed dtype (CPU): all inputs must share same datatype.")
    raise mismatch("mixed dtype (CPU): expect parameter to have scalar type of Float")


def _combinations(need: Need, call_operands: Operands) -> list[tuple[str, ...]]:
    """The dtypes that the tensors of a relation may have; empty where one is unknown."""
    combinations: list[tuple[str, ...]] = [()]
    for parameter in need.parameters:
        tensor = call_operands.single.get(parameter)
        possible = dtypes.possible(tensor.dtype) if isinstance(tensor, Tensor) else ()
        plain = [dtype for dtype in possible if not KINDS[dtype].shell]
        combinations = [(*earlier, dtype) for earlier in combinations for dtype in plain]
    return combinations


def _check_some(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse tensors if certainly none of them has one of some dtypes."""
    combinations = _combinations(need, call_operands)
    if combinations and not any(need.allowed.intersection(each) for each in combinations):
        raise _refused(need.message, reduce(promote, combinations[0]))


def _check_subtracted(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse bools where torch subtracts."""
    bools = [_is_bool(_operand(name, call_operands)) for name in need.parameters]
    if any(bools):
        raise subtraction_of_bools(both=all(bools))


def _check_negated(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse bools where torch negates."""
    if _is_bool(call_operands.single.get(need.parameters[0])):
        raise negation_of_bools()


def _is_bool(argument: Any) -> bool:
    return isinstance(argument, Tensor) and argument.dtype == "bool"


def _check_averaged(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse integers where torch takes the mean of a result computed from the tensors."""
    combinations = _combinations(need, call_operands)
    if combinations and all(INTEGRALS.issuperset(each) for each in combinations):
        raise mean_of_integers(reduce(promote, combinations[0]))


def _check_taken(need: Need, call_operands: Operands, defaults: Defaults) -> None:
    """Refuse a first tensor whose dtype cannot hold the result computed from it and the others."""
    combinations = _combinations(need, call_operands)
    wrong = [each for each in combinations if not can_cast(reduce(promote, each), each[0])]
    if combinations and len(wrong) == len(combinations):
        common = reduce(promote, wrong[0])
        text = f"result type {spoken(common)} can't be cast to the desired output type "
        raise mismatch(text + spoken(wrong[0][0]))


_Check: TypeAlias = Callable[[Need, Operands, Defaults], None]

_RELATIONS: Final[Mapping[str, _Check]] = MappingProxyType(
    {
        "alike": _check_alike,
        "averaged": _check_averaged,
        "mixed": _check_mixed,
        "negated": _check_negated,
        "some": _check_some,
        "subtracted": _check_subtracted,
        "takes": _check_taken,
    }
)
# The relations whose error in torch is always the same.
_OWN_MESSAGES: Final = ("averaged", "mixed", "negated", "subtracted", "takes")
