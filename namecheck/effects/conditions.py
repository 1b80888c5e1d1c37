"""The meaning of a condition in a row: a test of the arguments of a call.

A term is a literal, a parameter, or a measure of a parameter (`MEASURES`). A test compares terms,
or asks whether one is true. A parameter that the overload does not have is None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, NoneType
from typing import Any, Final

from namecheck.core.devices import META
from namecheck.core.dims import product
from namecheck.core.names import UNKNOWN, Answer, Name, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Constant, SomeNumber, Tensor
from namecheck.effects.words import (
    Comparison,
    Condition,
    Literal,
    ParameterNames,
    Word,
    WordError,
    check_parameters,
    read_condition,
)


def check(condition: Condition) -> None:
    """Raise `WordError` for a measure that does not exist, or that takes other parameters."""
    for word in condition.words:
        if word.arguments and word.name not in MEASURES:
            raise WordError(f"unknown measure '{word.name}'", MEASURES, "measures")
        if len(word.arguments) > 1:
            raise WordError(f"'{word.name}' measures one parameter")


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell that is a condition; raises `WordError`."""
    condition = read_condition(text)
    check(condition)
    for word in condition.words:
        check_parameters(word.arguments or (word.name,), parameters)


def answer(condition: Condition, arguments: Mapping[str, Any]) -> Answer:
    """Whether a condition holds for a call."""
    return _most(
        _least(_compare(test, arguments) for test in tests) for tests in condition.alternatives
    )


def may_hold(condition: Condition, arguments: Mapping[str, Any]) -> bool:
    """Whether a condition may hold; a tensor of unknown size counts as having elements."""
    return any(
        all(_counted(test, arguments) is not Answer.NO for test in tests)
        for tests in condition.alternatives
    )


def _counted(comparison: Comparison, arguments: Mapping[str, Any]) -> Answer:
    degree = _compare(comparison, arguments)
    is_count = any(isinstance(term, Word) and term.name == "numel" for term in comparison.terms)
    return Answer.NO if is_count and degree is Answer.MAYBE else degree


def holds(condition: Condition, arguments: Mapping[str, Any]) -> bool:
    """Whether a condition certainly holds for a call."""
    return answer(condition, arguments) is Answer.YES


def _least(degrees: Iterable[Answer]) -> Answer:
    return min(degrees, key=_DEGREE)


def _most(degrees: Iterable[Answer]) -> Answer:
    return max(degrees, key=_DEGREE)


_DEGREE: Final = operator.attrgetter("value")


def _compare(comparison: Comparison, arguments: Mapping[str, Any]) -> Answer:
    values = [_value(term, arguments) for term in comparison.terms]
    if not comparison.signs:
        return _truth(values[0])
    return _least(map(_compared, comparison.signs, values, values[1:]))


def _truth(value: Any) -> Answer:
    if isinstance(value, SomeNumber) or not isinstance(value, (bool, int, float, NoneType)):
        return Answer.MAYBE
    return Answer.YES if value else Answer.NO


def _value(operand: Word | Literal, arguments: Mapping[str, Any]) -> Any:
    if isinstance(operand, Literal):
        return operand.value
    if operand.arguments:
        return MEASURES[operand.name](arguments.get(operand.arguments[0]))
    value = arguments.get(operand.name)
    return value.name if isinstance(value, Constant) else value


def _compared(sign: str, value: Any, other_value: Any) -> Answer:
    if any(isinstance(each, (Unknown, Expression, SomeNumber)) for each in (value, other_value)):
        return Answer.MAYBE
    if sign in _ORDERS:
        if not isinstance(value, (int, float)) or not isinstance(other_value, (int, float)):
            return Answer.MAYBE
        compares = _ORDERS[sign](value, other_value)
    else:
        constant = any(each is None or isinstance(each, bool) for each in (value, other_value))
        equal = (
            value is other_value if constant else bool(value == other_value)
        )  # True is not the number 1
        compares = equal is (sign == "=")
    return Answer.YES if compares else Answer.NO


_ORDERS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {"<": operator.lt, ">": operator.gt}
)


def _rank(value: Any) -> int | Unknown:
    rank = value.dims.rank if isinstance(value, Tensor) else None
    return UNKNOWN if rank is None else rank


def _last(value: Any) -> int | Unknown:
    rank = _rank(value)
    return rank if isinstance(rank, Unknown) else rank - 1


def _min_rank(value: Any) -> int | Unknown:
    return value.dims.min_rank if isinstance(value, Tensor) else UNKNOWN


def _first(value: Any) -> Name | Unknown:
    if not isinstance(value, Tensor) or not value.dims.prefix:
        return UNKNOWN
    return value.dims.prefix[0].name


def _numel(value: Any) -> Any:
    if isinstance(value, Tensor):
        sizes = value.dims.sizes
        return 0 if 0 in sizes else UNKNOWN if value.dims.open else product(sizes)
    if isinstance(value, (tuple, list)):
        return product(size if isinstance(size, (int, Expression)) else UNKNOWN for size in value)
    return value


def _count(value: Any) -> int | Unknown:
    if isinstance(value, (tuple, list)):
        return len(value)
    return 1 if isinstance(value, int) else UNKNOWN


def _any(value: Any) -> bool | Unknown:
    """Whether an item of a list is true, or a single value."""
    answers = {_truth(item) for item in (value if isinstance(value, (tuple, list)) else (value,))}
    if Answer.YES in answers:
        return True
    return UNKNOWN if Answer.MAYBE in answers else False


def _layout(value: Any) -> str | Unknown:
    return value.layout if isinstance(value, Tensor) else UNKNOWN


def _is_meta(value: Any) -> bool:
    return isinstance(value, Tensor) and value.device == META


def _is_complex(value: Any) -> bool | Unknown:
    dtype = value.dtype if isinstance(value, Tensor) else value
    if isinstance(dtype, Constant):
        dtype = dtype.name
    return dtype.startswith("complex") if isinstance(dtype, str) else UNKNOWN


def _is_tensor(value: Any) -> bool | Unknown:
    return UNKNOWN if isinstance(value, Unknown) else isinstance(value, Tensor)


MEASURES: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "rank": _rank,
        "min_rank": _min_rank,
        "last": _last,
        "first": _first,
        "numel": _numel,
        "count": _count,
        "any": _any,
        "layout": _layout,
        "is_complex": _is_complex,
        "is_meta": _is_meta,
        "is_tensor": _is_tensor,
    }
)
"""The measures of one parameter.

``rank`` is the number of dims of a tensor, ``min_rank`` the least that it may be, ``last`` the
index of the last dim, ``first`` the name of the first dim; ``numel`` the number of elements of a
tensor, or of a tensor with this size or these sizes; ``is_complex`` whether a tensor, or a dtype,
is complex; ``layout`` the layout of a tensor, as torch names it; ``is_meta`` whether a tensor is
certainly on the meta device, ``is_tensor`` whether an argument is a tensor; ``count`` the number of
items in a list, of a single dim 1; ``any`` whether an item of a list is certainly not 0.
"""
