"""What a call tells of its operands and of its result: sizes, names of dims, and whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain import joins, same_shapes
from namecheck.interpreter.domain.same_shapes import Shared
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import UNORDERED, tag_of, with_tag
from namecheck.interpreter.domain.values import Const, Opaque, TensorValue, TupleValue, Value
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import observed_sides, observed_sizes
from namecheck.interpreter.models.torch.operands import Inputs, OperatorCall

_RESTS: Final = frozenset({"view", "reshape", "flatten"})
# The rules whose result has dims of the first operand.
_KEEPING: Final[Mapping[str, Shared]] = {
    "keeps_input_names": Shared.ALL,
    "keeps_names_along": Shared.ALL,
    "keeps_names_along_all": Shared.ALL,
    "normalizes_last": Shared.ALL,
    "normalizes_channels": Shared.ALL,
    "normalizes_by_vectors": Shared.ALL,
    "linear_module": Shared.BUT_LAST,
    "adaptive_pools": Shared.RANK,
    "averages_adaptively": Shared.RANK,
    "convolution_module": Shared.RANK,
    "convolves": Shared.RANK,
    "convolves_transposed": Shared.RANK,
    "interpolates": Shared.RANK,
    "padding_module": Shared.RANK,
    "pads": Shared.RANK,
    "pools": Shared.RANK,
    "transposed_convolution_module": Shared.RANK,
}
# The rules of tensors whose elements are drawn, or all alike, and those that move elements.
_FILLING: Final = frozenset({"factory", "filled_factory", "like", "new_sized"})
_MOVING: Final = frozenset(
    {
        *("expand", "flatten", "keeps_input_names", "permute", "permutes_dimensions", "repeat"),
        *("squeeze", "transposes_last_two", "transposes_matrix", "unflatten", "unsqueeze", "view"),
    }
)
# The operators that take a tensor apart, and the place of the dim among their arguments.
_PARTS: Final[Mapping[str, int]] = {"chunk": 2, "split": 2, "tensor_split": 2}


def learn(interpreter: Interpreter, operator_call: OperatorCall, lowered_inputs: Inputs) -> None:
    """Learn the sizes that operands have because nothing contradicts the call."""
    row, begun, store = operator_call.row, operator_call.begun, operator_call.store
    operand = _operand(interpreter, operator_call)
    observed_sizes.learn_features(row, *lowered_inputs, begun, operand, store)
    observed_sides.learn_contracted(row, lowered_inputs.args, store)
    observed_sides.allow_broadcast(row, lowered_inputs.args, store)
    if operator_call.key == "__setitem__" and operand is not None and is_unordered(operand, store):
        content = joins.held(operand, store)
        tags = with_tag(content.tags, UNORDERED, None)
        joins.write(operand, store, replace(content, tags=tags))


def known(
    interpreter: Interpreter, operator_call: OperatorCall, lowered_inputs: Inputs, outcome: Value
) -> Value:
    """A result with names for its dims."""
    key, row, store = operator_call.key, operator_call.row, operator_call.store
    operand = _operand(interpreter, operator_call)
    if isinstance(outcome, TupleValue) and key in _PARTS and _is_last(key, operator_call):
        parts = [_tied(part, operand, store, Shared.BUT_LAST) for part in outcome.items]
        return replace(outcome, items=tuple(parts))
    if not isinstance(outcome, TensorValue):
        return outcome
    if key in _RESTS:
        observed_sizes.name_rest(interpreter, key, lowered_inputs.args, outcome, store)
    observed_sizes.name_places(interpreter, row, outcome, store)
    if row is None:
        return outcome
    if row.names in _FILLING or (row.names in _MOVING and is_unordered(operand, store)):
        tags = with_tag(outcome.initial.tags, UNORDERED, True)
        outcome = replace(outcome, initial=replace(outcome.initial, tags=tags))
    shared = _KEEPING.get(row.names)
    return outcome if shared is None else _tied(outcome, operand, store, shared)


def is_unordered(value: Value | None, store: Store) -> bool:
    """Whether the elements of a tensor have no order, so that any view of them is right."""
    if not isinstance(value, TensorValue):
        return False
    return tag_of(joins.held(value, store).tags, UNORDERED) is not None


def _operand(interpreter: Interpreter, operator_call: OperatorCall) -> TensorValue | None:
    """The first operand; a layer has the arguments of its constructor before it."""
    begun = operator_call.begun
    first = 0 if begun is None else begun.args
    operand = operator_call.args[first] if len(operator_call.args) > first else None
    if isinstance(operand, Opaque) and begun is not None:
        return interpreter.torch.promote(operand, operator_call.store)
    return operand if isinstance(operand, TensorValue) else None


def _is_last(key: str, operator_call: OperatorCall) -> bool:
    """Whether a tensor is taken apart along its last dim."""
    args = operator_call.args
    dim = args[_PARTS[key]] if len(args) > _PARTS[key] else operator_call.keywords.get("dim")
    return dim == Const(-1)


def _tied(outcome: Value, operand_value: TensorValue | None, store: Store, what: Shared) -> Value:
    if not isinstance(outcome, TensorValue) or operand_value is None or operand_value == outcome:
        return outcome
    if not same_shapes.is_vague(outcome.initial.tensor.dims):
        return outcome
    return same_shapes.tied(outcome, operand_value, store, what)
