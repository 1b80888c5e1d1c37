"""The parameters of an operator, and the binding of a call to them.

`namecheck.effects.words` has the grammar: ``input:tensor, dim:dim|name|dims|names=None,
keepdim:bool=False, *, dtype:dtype=None``. The kinds after the colon are those of native torch's
argument parser. ``end>other:tensor`` is called `end` by callers and `other` by the rule. A row
without parameters has the signature of its rule, with any kinds.

Letters at the start, ``[f] input:tensor, …``, restrict it to calls in these forms
(`Operator.forms`); parameters before ``/`` are passed by position alone; ``*size:ints`` takes one
list or the arguments one by one, ``*names`` only one by one; ``**pairs`` takes every keyword.

``dim`` is an index, ``dims`` a list of indices, ``name`` a name, ``names`` a list of names.
``paired`` are two lists of dims, one for the first tensor and one for the second. A ``bool`` is
True or False, as aten demands; a ``flag`` is tested by a function written in Python, so that any
object will do (``F.dropout(x, 0.5, True, 0)``), and an ``unset`` one is false. With ``by_name`` a
name goes wherever an index goes (name_inference.rst, "Removes dimensions": "wherever one can pass
an integer dimension index to an operator, one can also pass a dimension name").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.devices import Chosen
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown, nameless, read_name
from namecheck.core.parameters import REQUIRED, declared
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.effects.words import Parameter, Signature
from namecheck.rules.arguments import is_single


@cache
def of(rule: Callable[..., Any]) -> Signature:
    """The signature of a rule, of any kind."""
    return tuple(
        Parameter(
            each.name,
            _kinds_of(each.type_text),
            each.default,
            each.is_keyword,
            each.is_variadic,
        )
        for each in declared(rule)
    )


def _kinds_of(type_text: str) -> frozenset[str]:
    """A rule's parameter annotated ``Tensor`` takes tensors; any other takes anything.

    An unknown value may be a tensor where the annotation has one of `_TENSORS`.
    """
    types = type_text.split(" | ")
    if _TENSORS.isdisjoint(types):
        return frozenset()
    return frozenset({"tensor"} if types == ["Tensor"] else {"tensor", "any"})


_TENSORS: Final = frozenset({"Tensor", "TensorOrNumber", "object"})


@dataclass(frozen=True, slots=True)
class Binding:
    """A call bound to one alternative of a signature: its index, the arguments by parameter."""

    overload: int
    arguments: dict[str, Any]


class Unbound(Exception):
    """A call that fits no signature of the table, for a reason other than names."""


def bind(
    operator: str,
    signatures: Sequence[Signature],
    values: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    by_name: bool,
) -> list[Binding]:
    """The overloads that a call may use, up to the first that it certainly uses.

    An unknown argument may fit several. Raises `Contradiction` NC114, a TypeError, where the call
    certainly fits none. With `by_name` that counts only where the call has names: one without any
    raises `Unbound`, as torch may have more overloads than the table.
    """
    refusal: Contradiction | None = None
    fitting: list[Binding] = []
    for overload, signature in enumerate(signatures):
        try:
            bound, fits = _bind_one(operator, signature, values, kwargs, by_name=by_name)
        except Contradiction as contradiction:
            refusal = refusal or contradiction.alone()
            continue
        fitting.append(Binding(overload, bound))
        if fits is Answer.YES:
            break
    if fitting:
        return fitting
    assert refusal is not None
    if by_name and not any(_has_names(each, values, kwargs) for each in signatures):
        raise Unbound(refusal.message)
    if len(signatures) == 1:
        raise refusal
    shown = [describe(value) for value in values] + [
        f"{key}={describe(value)}" for key, value in kwargs.items()
    ]
    raise _type_error(
        f"{operator}() received an invalid combination of arguments - got ({', '.join(shown)})"
    )


def _has_names(signature: Signature, values: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call has names, or a string for a parameter that takes no text.

    The first argument, a tensor or an equation, is no name.
    """
    if "names" in kwargs:
        return True
    by_position, by_keyword = places(signature, len(values), kwargs)
    pairs = [
        *zip(by_position[1:], values[1:], strict=True),
        *((by_keyword.get(keyword), value) for keyword, value in kwargs.items()),
    ]
    return any(_holds_text(value) and not _takes_text(parameter) for parameter, value in pairs)


def _takes_text(parameter: Parameter | None) -> bool:
    return parameter is not None and bool(parameter.kinds & {"str", "any"})


def _holds_text(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_text, value))
    return isinstance(value, str)


def _bind_one(
    operator: str,
    signature: Signature,
    values: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    by_name: bool,
) -> tuple[dict[str, Any], Answer]:
    assigned: dict[str, Any] = {}
    fits = Answer.YES
    rest = list(values)
    remaining = {_spelled(key, signature): value for key, value in kwargs.items()} if kwargs else {}
    for index, parameter in enumerate(signature):
        if parameter.variadic:
            assigned[parameter.name] = _variadic(rest, remaining, parameter)
            rest = []
        elif parameter.mapping:
            assigned[parameter.name] = remaining
            remaining = {}
            continue
        elif rest and not parameter.keyword_only:
            assigned[parameter.name] = rest.pop(0)
            if parameter.name in remaining and not parameter.positional_only:
                raise _type_error(
                    f"{operator}() got multiple values for argument '{parameter.name}'"
                )
        elif parameter.name in remaining and not parameter.positional_only:
            assigned[parameter.name] = remaining.pop(parameter.name)
        elif parameter.default is REQUIRED:
            raise _type_error(
                f'{operator}() missing 1 required positional arguments: "{parameter.name}"'
            )
        else:
            assigned[parameter.name] = parameter.default
            continue
        value = assigned[parameter.name]
        one_by_one = parameter.variadic and not parameter.kinds & _LISTS.keys()
        for item in value if one_by_one else (value,):
            fit = _fits(operator, index, parameter, item, by_name=by_name)
            if fit is not Answer.YES:
                fits = min(fits, fit, key=_strength)
        if one_by_one:
            assigned[parameter.name] = tuple(_assumed(parameter, item) for item in value)
        else:
            assigned[parameter.name] = _assumed(parameter, value)
    if rest:
        raise _type_error(
            f"{operator}() takes {len(signature)} positional arguments but {len(values)} were given"
        )
    for name in remaining:
        raise _type_error(f"{operator}() got an unexpected keyword argument '{name}'")
    return assigned, fits


def places(
    signature: Signature, count: int, keywords: Iterable[str]
) -> tuple[list[Parameter | None], dict[str, Parameter]]:
    """The parameters of `count` positional arguments, and of those by keyword."""
    by_position: list[Parameter | None] = []
    for parameter in signature:
        if parameter.variadic:
            by_position += [parameter] * (count - len(by_position))
        elif not parameter.keyword_only and not parameter.mapping:
            by_position.append(parameter)
    by_position = [*by_position[:count], *[None] * (count - len(by_position))]
    named = {parameter.name: parameter for parameter in signature}
    spelled = {keyword: _spelled(keyword, signature) for keyword in keywords}
    return by_position, {key: named[word] for key, word in spelled.items() if word in named}


def in_usual_spelling(
    signatures: Sequence[Signature], arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The arguments by their keywords in torch's spelling, of one of several signatures."""
    if arguments.keys().isdisjoint(_NUMPY):
        return arguments
    spelled: dict[str, Any] = {}
    for keyword, value in arguments.items():
        words = {_spelled(keyword, signature) for signature in signatures} - {keyword}
        spelled[words.pop() if words else keyword] = value
    return spelled


def _spelled(keyword: str, signature: Signature) -> str:
    """Keywords in torch's spelling; numpy's are accepted (recorded: ``axis``, ``keepdims``)."""
    if any(parameter.mapping for parameter in signature):
        return keyword
    usual = _NUMPY.get(keyword, keyword)
    names = {parameter.name for parameter in signature}
    return usual if keyword not in names and usual in names else keyword


_NUMPY: Final = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "x1": "input",
    "x2": "other",
}


def _assumed(parameter: Parameter, value: Any) -> Any:
    """The argument; an unknown one is assumed to be a tensor where the parameter takes tensors."""
    if isinstance(value, Unknown) and "tensor" in parameter.kinds:
        return Tensor()
    if "tensors" not in parameter.kinds:
        return value
    if isinstance(value, Unknown):
        return Many(Tensor())
    if isinstance(value, (tuple, list)):
        return type(value)(Tensor() if isinstance(item, Unknown) else item for item in value)
    return value


def _variadic(rest: list[Any], remaining: dict[str, Any], parameter: Parameter) -> Any:
    """``f(2, 3)``, ``f((2, 3))`` and ``f(size=(2, 3))`` are one call, where a list is accepted."""
    if not parameter.kinds & _LISTS.keys():
        return tuple(rest)
    if not rest and parameter.name in remaining:
        return remaining.pop(parameter.name)
    if not rest and parameter.default is REQUIRED:
        raise _type_error(f'missing 1 required positional arguments: "{parameter.name}"')
    if len(rest) == 1 and isinstance(rest[0], (tuple, list, Many, Unknown)):
        return rest[0]
    return tuple(rest)


def read(signature: Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the rule takes them, with every name as torch reads it: ``'*'`` is None.

    Raises `Contradiction` where a string is no name; torch reads names after checking all kinds,
    those of the last argument first (recorded: transpose, flatten).
    """
    converted: dict[str, Any] = {}
    for parameter in reversed(signature):
        value = arguments[parameter.name]
        if parameter.kinds & _NAMING and not parameter.kinds & {"str", "any"}:
            if _looks_up_none(parameter, value):
                raise nameless("Give the name or the index of one of the tensor's dimensions.")
            value = _counted(_read(value))
            if _lists_alone(parameter) and not isinstance(value, _CONTAINERS):
                value = (value,)
        if parameter.kinds & _COUNTING and not parameter.kinds & _TAKING:
            value = _counted(value)
        if parameter.kinds & _TESTED:
            value = _truth(value)
        converted[parameter.role or parameter.name] = value
    return converted


def _lists_alone(parameter: Parameter) -> bool:
    """Whether a parameter takes several dims and not one; a single name stands for a list of it."""
    optional = parameter.kinds & {"dim", "name", "none"} or parameter.default is None
    return "dims" in parameter.kinds and not optional


_CONTAINERS: Final = (tuple, list, Unknown)


def _counted(value: Any) -> Any:
    """Ints or names; an item that is neither, of a list that is read later, becomes unknown."""
    if isinstance(value, (tuple, list)):
        if all(isinstance(item, _COUNTED) for item in value):
            return value
        kind = tuple if isinstance(value, tuple) else list
        return kind(item if isinstance(item, _COUNTED) else UNKNOWN for item in value)
    return UNKNOWN if isinstance(value, _UNCOUNTED) else value


_UNCOUNTED: Final = (Tensor, Many, Constant, float, complex)
_COUNTED: Final = (int, str, Expression, Unknown, type(None))


_NAMING: Final = frozenset({"name", "names", "dim", "dims"})
_COUNTING: Final = frozenset({"int", "ints"})
_TAKING: Final = frozenset({"tensor", "tensors", "any"})
_TESTED: Final = frozenset({"flag", "unset"})


def _truth(value: Any) -> bool | Unknown:
    """What ``if value:`` of a function written in Python finds."""
    return UNKNOWN if isinstance(value, _UNTESTED) else bool(value)


_UNTESTED: Final = (Unknown, Tensor, Many, Expression)


def _looks_up_none(parameter: Parameter, value: Any) -> bool:
    """Whether None is passed, not left out, where a dim is looked up (recorded: squeeze, sum)."""
    if isinstance(value, str):
        return value == "*" and not parameter.kinds.isdisjoint(("dim", "dims"))
    optional = "none" in parameter.kinds or parameter.default is None
    return value is None and not optional and {"dim", "name"} <= parameter.kinds


def _read(value: Any) -> Any:
    if isinstance(value, str):
        return read_name(value)
    if isinstance(value, (tuple, list)) and any(map(_is_name, value)):
        return type(value)(map(read_name, value))
    return value


def _is_name(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _fits(operator: str, index: int, parameter: Parameter, value: Any, *, by_name: bool) -> Answer:
    default = parameter.default
    if not parameter.kinds or (type(value) is type(default) and value == default):
        return Answer.YES
    answer = Answer.NO
    for kind in _accepted(parameter.kinds) if by_name else parameter.kinds:
        accepted = accepts(kind, value)
        if accepted is Answer.YES:
            return Answer.YES
        if accepted is Answer.MAYBE:
            answer = Answer.MAYBE
    if answer is Answer.NO:
        kinds = " or ".join(_SPOKEN.get(kind, kind) for kind in sorted(parameter.kinds))
        raise _type_error(
            f"{operator}(): argument '{parameter.name}' (position {index + 1}) must be {kinds}, "
            f"not {describe(value)}"
        )
    return answer


@cache
def _accepted(kinds: frozenset[str]) -> frozenset[str]:
    """The kinds that a parameter accepts where dims may be called by their names."""
    if "dims" in kinds:
        return kinds | {"names", "name"}
    return kinds | {"name"} if "dim" in kinds else kinds


_SPOKEN: Final = {
    "dim": "int",
    "dims": "tuple of ints",
    "ints": "tuple of ints",
    "tensor": "Tensor",
    "tensors": "tuple of Tensors",
    "names": "tuple of names",
    "number": "Number",
}


def accepts(kind: str, value: Any) -> Answer:
    """Whether native torch's argument parser accepts `value` as `kind`."""
    if isinstance(value, Unknown):
        return Answer.MAYBE
    if kind in _LISTS:
        if isinstance(value, Many):
            return Answer.YES if kind == "tensors" else Answer.NO
        if not isinstance(value, (tuple, list)):
            return Answer.NO
        # torch checks only the first item of a list of names here, and reads the others later.
        items = value[:1] if kind == "names" else value
        answers = [
            is_single(item)
            if kind == "ints" and isinstance(item, Tensor)
            else accepts(_LISTS[kind], item)
            for item in items
        ]
        return min(answers, key=_strength, default=Answer.YES)
    if kind in ("number", "int", "float") and isinstance(value, Tensor):
        return _is_scalar(value)
    if kind == "unset":
        truth = _truth(value)
        return Answer.MAYBE if isinstance(truth, Unknown) else Answer.NO if truth else Answer.YES
    return Answer.YES if _SCALARS[kind](value) else Answer.NO


def _strength(answer: Answer) -> int:
    return answer.value


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, Expression)) and not isinstance(value, bool)


def _is_scalar(tensor: Tensor) -> Answer:
    """A 0-d tensor is accepted wherever a number is."""
    if tensor.dims.min_rank:
        return Answer.NO
    return Answer.MAYBE if tensor.dims.open else Answer.YES


_LISTS: Final = {
    "ints": "int",
    "dims": "dim",
    "names": "name",
    "tensors": "tensor",
    "subscripts": "subscript",
}
_SCALARS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "tensor": lambda value: isinstance(value, Tensor),
    "number": lambda value: isinstance(value, (int, float, complex, Expression)),
    "int": _is_int,
    "dim": _is_int,
    "subscript": lambda value: value is ... or _is_int(value),
    "float": lambda value: isinstance(value, (int, float, Expression)),
    "bool": lambda value: isinstance(value, bool),
    "flag": lambda value: True,
    "unset": lambda value: not value,
    "str": lambda value: isinstance(value, str),
    "name": lambda value: value is None or isinstance(value, str),
    "dtype": lambda value: isinstance(value, Constant) and value.kind == "dtype",
    "device": lambda value: (
        isinstance(value, str)
        or _is_int(value)
        or isinstance(value, Chosen)
        or (isinstance(value, Constant) and value.kind == "device")
    ),
    "layout": lambda value: isinstance(value, Constant) and value.kind == "layout",
    "memory_format": lambda value: isinstance(value, Constant) and value.kind == "memory_format",
    "none": lambda value: value is None,
    "paired": lambda value: True,
    "any": lambda value: True,
}
KINDS: Final = frozenset(_LISTS) | frozenset(_SCALARS)


def describe(value: Any) -> str:
    """The type of a value as torch's argument parser prints it."""
    if isinstance(value, Constant):
        return f"torch.{value.kind}"
    if isinstance(value, Unknown):
        return "?"
    if isinstance(value, Expression):
        return "int"
    if isinstance(value, (Tensor, Many)):
        return "Tensor" if isinstance(value, Tensor) else "tuple"
    return type(value).__name__


def _type_error(message: str) -> Contradiction:
    return Contradiction("NC114", message, error="TypeError")
