"""The ranks of operands that follow from a successful call: ``x.sum(2)`` has a dim 2 to sum over.

An operand of unknown rank is tried with each rank: those that the rule of the operator refuses are
excluded from then on, or the program has failed. ``torch.bmm(x, y)`` takes three dims of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import ANY_DIM, Dims, of_rank
from namecheck.core.dtypes import Defaults
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins, same_shapes
from namecheck.interpreter.domain.values import (
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.torch.operands import Inputs, OperatorCall, frozen
from namecheck.interpreter.models.torch.rule_applications import RuleApplications
from namecheck.rules.registry import traits_of

# What is refused for the number of dims, whatever their sizes and names.
_OF_RANKS: Final = frozenset({"NC203", "NC206", "NC207"})
# The highest least rank that is learnt.
_MOST: Final = 6
_TENSOR: Final = frozenset({"tensor"})
_TENSORS: Final = frozenset({"tensors"})


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where an operand stands: an argument, by position or keyword, or an item of a sequence."""

    argument: int | str
    item: int | None = None

    def read(self, lowered_inputs: Inputs) -> Any:
        """The operand."""
        lowered: Any = (
            lowered_inputs.args[self.argument]
            if isinstance(self.argument, int)
            else lowered_inputs.keywords[self.argument]
        )
        return lowered if self.item is None else lowered[self.item]

    def changed(self, lowered_inputs: Inputs, tensor: Tensor) -> Inputs:
        """The arguments with another operand there."""
        operand: Any = tensor
        if self.item is not None:
            whole = _Spot(self.argument).read(lowered_inputs)
            items = [*whole]
            items[self.item] = tensor
            operand = type(whole)(items)
        if isinstance(self.argument, int):
            args = [*lowered_inputs.args]
            args[self.argument] = operand
            return Inputs(args, lowered_inputs.keywords)
        return Inputs(lowered_inputs.args, {**lowered_inputs.keywords, self.argument: operand})


class ObservedRanks:
    """Learns the ranks of operands in one file."""

    def __init__(self, interpreter: Interpreter, rules: RuleApplications) -> None:
        self._interpreter = interpreter
        self._rules = rules
        self._learnt: dict[object, Dims | None] = {}

    def learn(
        self, operator_call: OperatorCall, lowered_inputs: Inputs, defaults: Defaults
    ) -> bool:
        """Write the ranks that the operands of an accepted call have; whether there was any.

        A broadcast takes any rank.
        """
        row, has_learnt = operator_call.row, False
        if row is None or traits_of(row.names).aligns == "broadcast":
            return False
        frozen_inputs: tuple[object, ...] = ()
        for spot, value in _operands(operator_call):
            lowered = spot.read(lowered_inputs)
            tensor = Tensor() if lowered is UNKNOWN else lowered
            if not isinstance(tensor, Tensor) or not tensor.dims.open:
                continue
            # Frozen for the first operand that needs it, and once for all.
            frozen_inputs = frozen_inputs or (
                frozen(lowered_inputs.args),
                frozen(tuple(lowered_inputs.keywords.items())),
            )
            key = (operator_call.operator, defaults, spot, *frozen_inputs)
            if key not in self._learnt:
                self._learnt[key] = self._dims(
                    operator_call, lowered_inputs, defaults, spot, tensor
                )
            dims = self._learnt[key]
            if dims is not None:
                has_learnt |= self._write(operator_call, value, dims)
        return has_learnt

    def _dims(
        self,
        operator_call: OperatorCall,
        lowered_inputs: Inputs,
        defaults: Defaults,
        spot: _Spot,
        tensor: Tensor,
    ) -> Dims | None:
        """The dims with a rank that the call accepts; None where it tells nothing."""

        def accepts(rank: int) -> bool:
            closed = of_rank(tensor.dims, rank)
            assert closed is not None
            tried = spot.changed(lowered_inputs, replace(tensor, dims=closed, likely=None))
            contradiction = self._rules.tried(operator_call, tried, defaults).contradiction
            return contradiction is None or contradiction.code not in _OF_RANKS

        start = tensor.dims.min_rank
        least = next((rank for rank in range(start, _MOST + 1) if accepts(rank)), None)
        if least is None:
            return None
        if not accepts(least + 1) and not accepts(least + 2):
            return of_rank(tensor.dims, least)
        if least == start:
            return None
        more = (ANY_DIM,) * (least - start)
        return Dims(tensor.dims.prefix + more, tensor.dims.suffix, open=True)

    def _write(self, operator_call: OperatorCall, value: Value, dims: Dims) -> bool:
        store = operator_call.store
        if isinstance(value, Opaque):
            value = self._interpreter.torch.promote(value, store)
        if not isinstance(value, TensorValue):
            return False
        content = joins.held(value, store)
        if not content.tensor.dims.open or content.tensor.dims.min_rank > dims.min_rank:
            return False  # it is another operand of the call, too
        likely = content.tensor.likely
        if likely is not None and likely.min_rank < dims.min_rank:
            likely = None
        tensor = replace(content.tensor, dims=dims, likely=likely)
        joins.write(value, store, replace(content, tensor=tensor))
        same_shapes.tell(value, store)
        return True


def _operands(operator_call: OperatorCall) -> Iterator[tuple[_Spot, Value]]:
    """The operands that are certainly tensors, with their places."""
    named_operands: list[tuple[int | str, Value]] = [*enumerate(operator_call.args)]
    named_operands += operator_call.keywords.items()
    for argument, value in named_operands:
        if isinstance(value, TensorValue):
            yield _Spot(argument), value
        elif isinstance(value, Opaque):
            if _takes_tensor(operator_call, argument):
                yield _Spot(argument), value
        else:
            are_tensors = _kinds(operator_call, argument) == {_TENSORS}
            for index, item in enumerate(_items(value, operator_call)):
                if isinstance(item, TensorValue) or (are_tensors and isinstance(item, Opaque)):
                    yield _Spot(argument, index), item


def _items(value: Value, operator_call: OperatorCall) -> Sequence[Value]:
    """The items of a list or a tuple."""
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, ListValue):
        content = joins.items(value, operator_call.store)
        return () if isinstance(content, Repeated) else content
    return ()


def _takes_tensor(operator_call: OperatorCall, argument: int | str) -> bool:
    """Whether an argument can be nothing but a tensor."""
    if operator_call.operator.startswith("__"):
        return False
    if operator_call.begun is not None:
        return argument == operator_call.begun.args
    kinds = _kinds(operator_call, argument)
    if kinds == {_TENSORS} and isinstance(argument, int):
        return len(operator_call.args) > argument + 1 or argument > 1  # not a list of them
    return kinds == {_TENSOR}


def _kinds(operator_call: OperatorCall, argument: int | str) -> set[frozenset[str]]:
    """The kinds of values that an argument may have, by each signature."""
    kinds = set[frozenset[str]]()
    for signature in operator_call.row.signatures if operator_call.row is not None else ():
        for position, parameter in enumerate(signature):
            is_rest = parameter.variadic and isinstance(argument, int) and argument >= position
            if argument in (position, parameter.name) or is_rest:
                kinds.add(parameter.kinds)
    return kinds
