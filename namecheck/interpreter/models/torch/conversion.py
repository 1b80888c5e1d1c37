"""Converts values to arguments of `infer`, and results of `infer` to values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from namecheck import operators
from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, Dims
from namecheck.core.findings import Place
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import Expression, fits
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import SOME_NUMBERS, Constant, Many, Maybe, Tensor
from namecheck.interpreter.domain import device_values, equalities, joins, opaque_tensors
from namecheck.interpreter.domain.addresses import AttributeTensor
from namecheck.interpreter.domain.cells import RankOf
from namecheck.interpreter.domain.provenance import OperatorResult
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Alternative,
    Const,
    DictValue,
    Entries,
    Held,
    ListValue,
    Opaque,
    Picked,
    Repeated,
    SliceValue,
    TensorValue,
    TupleValue,
    Union,
    Value,
    size_of,
    sized,
)
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.torch import origins
from namecheck.interpreter.models.torch.operands import OperatorCall, is_new, is_one, may_be_one
from namecheck.rules import registry

_NUMBERS: Final = frozenset({"float", "complex"})
# How deep containers in containers are followed, and how often one that was met before.
_DEEPEST: Final = 64
_REVISITS: Final = 512


def promote(opaque: Opaque, store: Store) -> TensorValue:
    """An unknown value as the tensor that it must be."""
    rank: int | None = store.fact(RankOf, opaque.key)
    tensor = Tensor() if rank is None else Tensor(Dims((ANY_DIM,) * rank))
    return TensorValue(opaque_tensors.tensor_address(opaque), Held(tensor))


def picked(interpreter: Interpreter, passed: Value, value: Value, store: Store) -> Value:
    """A result that may be this operand itself."""
    if not isinstance(passed, TensorValue) or not isinstance(value, TensorValue):
        return value
    if not may_be_one(joins.held(passed, store).tensor, value.initial.tensor):
        return value
    number = interpreter.new_address()
    return TensorValue(Picked((passed,), number, number), value.initial, value.tags)


def passed_on(
    interpreter: Interpreter,
    operator_call: OperatorCall,
    input_value: TensorValue,
    tensor_value: TensorValue,
) -> Value:
    """The result of a call that may return its operand; one of both where that is certain."""
    store = operator_call.store
    before = joins.held(input_value, store).tensor
    if is_one(operator_call, before, tensor_value.initial.tensor):
        return input_value
    if is_new(operator_call, before, tensor_value.initial.tensor):
        return tensor_value
    return picked(interpreter, input_value, tensor_value, store)


def each_picked(
    interpreter: Interpreter, args: Sequence[Value], value: Value, store: Store
) -> Value:
    """Several results, each of which may be its own operand (torch.atleast_2d)."""
    if isinstance(value, ListValue) and not isinstance(value.initial, Repeated):
        return replace(value, initial=_each_picked(interpreter, args, value.initial, store))
    if isinstance(value, TupleValue):
        return replace(value, items=_each_picked(interpreter, args, value.items, store))
    return value


def _each_picked(
    interpreter: Interpreter, args: Sequence[Value], picked_values: tuple[Value, ...], store: Store
) -> tuple[Value, ...]:
    operands = tuple(args)
    if len(args) == 1 and isinstance(args[0], TupleValue):
        operands = args[0].items
    elif len(args) == 1 and isinstance(args[0], ListValue):
        content = joins.items(args[0], store)
        operands = () if isinstance(content, Repeated) else content
    if len(operands) != len(picked_values):
        return picked_values
    return tuple(
        picked(interpreter, passed, value, store)
        for passed, value in zip(operands, picked_values, strict=True)
    )


class _Visits:
    """The containers visited while one value is lowered: a list may contain itself."""

    __slots__ = ("again", "depth", "met")

    def __init__(self) -> None:
        self.depth = 0
        self.again = 0
        self.met: set[Hashable] = set()

    def ends_at(self, container: Value, store: Store) -> bool:
        """Whether a container is not followed any more."""
        if isinstance(container, (ListValue, DictValue)):
            self.again += container.address in self.met
            self.met.add(container.address)
        if self.depth <= _DEEPEST and self.again <= _REVISITS:
            return False
        store.ledger.reach("values in nested containers")
        return True


def lower(value: Value, store: Store, visits: _Visits | None = None) -> Any:
    """A value in the form that `infer` takes."""
    if isinstance(value, TensorValue):
        tensor = equalities.equated(joins.held(value, store).tensor, store)
        if tensor.likely is not None and tensor.dims.complete:
            tensor = replace(tensor, likely=None)  # nothing more is likely than is certain
        return device_values.resolved(tensor, store)
    if isinstance(value, Const):
        constant = value.value
        is_size = not isinstance(constant, int) or fits(constant)
        return constant if is_size else UNKNOWN
    if isinstance(value, Opaque):
        return _lower_opaque(value, store)
    if isinstance(value, (TupleValue, ListValue, Repeated, DictValue)):
        return _lower_container(value, store, visits or _Visits())
    if isinstance(value, SliceValue):
        return slice(*(lower(part, store) for part in (value.lower, value.upper, value.step)))
    if isinstance(value, Union) and device_values.is_choice(value):
        return device_values.choice_of(value, store)
    return UNKNOWN


def _lower_container(
    container: TupleValue | ListValue | Repeated | DictValue, store: Store, visits: _Visits
) -> Any:
    """A container with its items."""
    if visits.ends_at(container, store):
        return UNKNOWN
    visits.depth += 1
    store.ledger.meter.spend(1)
    if isinstance(container, TupleValue):
        lowered: Any = tuple([lower(item, store, visits) for item in container.items])
    elif isinstance(container, ListValue):
        lowered = _lower_items(joins.items(container, store), store, visits)
    elif isinstance(container, Repeated):
        lowered = _lower_items(container, store, visits)
    else:
        lowered = _lower_dict(container, store, visits)
    visits.depth -= 1
    return lowered


def _lower_opaque(opaque: Opaque, store: Store) -> Any:
    if opaque_tensors.is_tensor(opaque, store):
        return lower(promote(opaque, store), store)
    size = size_of(opaque)
    if size is not None:
        return equalities.size(size, store)
    device = device_values.lowered(opaque.key)
    if device is not None:
        return device
    return SOME_NUMBERS[opaque.kind] if opaque.kind in _NUMBERS else UNKNOWN


def _lower_items(content: tuple[Value, ...] | Repeated, store: Store, visits: _Visits) -> Any:
    if not isinstance(content, Repeated):
        store.ledger.meter.spend(len(content))
        return [lower(item, store, visits) for item in content]
    each = lower(content.each, store, visits)
    return Many(each) if isinstance(each, Tensor) else UNKNOWN


# The steps of one letter of a pattern.
_LETTER: Final = 4
# What no rule asks for as a key; a list may be a tuple of the program.
_NO_KEYS: Final = (Tensor, Many, list, dict)


def _lower_dict(dict_value: DictValue, store: Store, visits: _Visits) -> Any:
    entries = joins.entries(dict_value, store)
    if entries.rest is not None:
        return UNKNOWN
    lowered = [(lower(k, store, visits), lower(v, store, visits)) for k, v in entries.items]
    if not all(_is_key(key) for key, _ in lowered):
        return UNKNOWN
    return OrderedDict(lowered) if dict_value.ordered else dict(lowered)


def _is_key(lowered: Any) -> bool:
    """Whether a rule may ask for this key; Python 3.11 hashes no slices."""
    if lowered is UNKNOWN or isinstance(lowered, _NO_KEYS):
        return False
    try:
        hash(lowered)
    except TypeError:
        return False
    return True


def steps(lowered: list[Any]) -> int:
    """What a rule costs with these inputs: patterns are read letter by letter."""
    rank = letters = 0
    for one in lowered:
        if isinstance(one, Tensor):
            rank += len(one.dims.known)
        elif isinstance(one, str):
            letters += len(one)
    return (rank * rank >> 6) + _LETTER * letters  # some rules compare dims in pairs


def new_tensor(
    interpreter: Interpreter, tensor: Tensor, places_of_names: Mapping[str, Place] | None = None
) -> TensorValue:
    """A new tensor."""
    if tensor.dims.min_rank > 1:
        interpreter.progress.shapes.add(tensor.dims)
    return TensorValue(interpreter.new_address(), Held(tensor, places_of_names or {}))


def lift(
    interpreter: Interpreter,
    answer: Any,
    before: Mapping[str, Place],
    node: Node,
    query: OperatorResult | None = None,
) -> Value:
    """A result of `infer` as a value; an unknown result is the answer to a query."""
    if isinstance(answer, Tensor):
        return new_tensor(interpreter, answer, origins.trace(interpreter, answer, before, node))
    if isinstance(answer, Dims):
        return lift(interpreter, Tensor(answer), before, node)
    if isinstance(answer, Many):
        return Repeated(lift(interpreter, answer.each, before, node))
    if isinstance(answer, Maybe):
        address = AttributeTensor(interpreter.new_address())
        filled = TensorValue(
            address, Held(answer.tensor, origins.trace(interpreter, answer.tensor, before, node))
        )
        return joins.union([Alternative(NONE), Alternative(filled)], interpreter.context.ledger)
    if isinstance(answer, Expression):
        return sized(answer)
    if isinstance(answer, int) and not fits(answer):
        return interpreter.fresh("big", "int")
    if answer is UNKNOWN:
        if query is None:
            return interpreter.fresh("unknown")
        row = operators.row_of(query.operator, interpreter.context.rows)
        is_int = row is not None and registry.traits_of(row.names).counts
        return Opaque(query, "int" if is_int else None)
    if isinstance(answer, tuple):
        parts = [
            lift(interpreter, part, before, node, _part(query, index))
            for index, part in enumerate(answer)
        ]
        return TupleValue(tuple(parts))
    if isinstance(answer, list):
        content = tuple(lift(interpreter, part, before, node) for part in answer)
        return ListValue(interpreter.new_address(), content)
    if isinstance(answer, dict):
        pairs = [
            (Const(key), lift(interpreter, part, before, node)) for key, part in answer.items()
        ]
        return DictValue(interpreter.new_address(), Entries(tuple(pairs)))
    if answer is None or isinstance(answer, (bool, int, float, complex, str, Constant)):
        return Const(answer)
    return interpreter.fresh("value")


def _part(query: OperatorResult | None, index: int) -> OperatorResult | None:
    """The query for one of several answers."""
    return None if query is None else replace(query, path=(*query.path, index))
