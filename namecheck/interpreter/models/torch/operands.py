"""The operands of a call of an operator, and what is known about them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from namecheck.core import devices, dtypes
from namecheck.core import names as naming
from namecheck.core.findings import OperandFacts, Span
from namecheck.core.names import UNKNOWN, Answer, Axis
from namecheck.core.sizes import Expression
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Many, Maybe, Tensor
from namecheck.interpreter.domain import identities, joins, values
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    ListValue,
    Opaque,
    Operand,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
    each_of,
)
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.observations import Application, Begun, Recorder
from namecheck.operators import Inference, Operator


class OperatorCall(NamedTuple):
    """A call of an operator, whose row in the table is that of `key`, with values.

    `every` has all arguments, `operands` those that a finding may point at, each with its
    expression. A layer was `begun` by a call of its constructor.
    """

    operator: str
    key: str
    row: Operator | None
    args: Sequence[Value]
    keywords: Mapping[str, Value]
    every: Sequence[Value]
    node: Node
    store: Store
    frame: Frame
    operands: Sequence[Operand]
    begun: Begun | None

    @property
    def out_is_input(self) -> Answer:
        """Whether a tensor passed as ``out=`` is one of the inputs itself."""
        if "out" not in self.keywords:
            return Answer.NO
        outputs = _items(self.keywords["out"], self.store)
        inputs = (*self.args, *(self.keywords[name] for name in self.keywords if name != "out"))
        if any(_is_the_output(value, self.keywords["out"]) for value in inputs):
            return Answer.YES
        may_be = any(
            _may_be_output(item, out)
            for value in inputs
            for item in _items(value, self.store)
            for out in outputs
        )
        return Answer.MAYBE if may_be else Answer.NO

    def argument(self, which: int | str) -> Value:
        """A positional argument by its index, or one by its keyword."""
        if isinstance(which, int):
            return self.args[which]
        return self.keywords[which]


class Inputs(NamedTuple):
    """The arguments of a call, as `infer` takes them."""

    args: list[Any]
    keywords: dict[str, Any]

    @property
    def every(self) -> tuple[Any, ...]:
        """All arguments, those by keyword last."""
        return *self.args, *self.keywords.values()


def _items(value: Value, store: Store) -> Sequence[Value]:
    """The items of a sequence, or the value alone."""
    if isinstance(value, ListValue):
        return each_of(joins.items(value, store))
    return value.items if isinstance(value, TupleValue) else (value,)


def _is_the_output(value: Value, destination: Value) -> bool:
    """Whether an input certainly is the tensor passed as ``out=``."""
    return (
        isinstance(value, TensorValue)
        and isinstance(destination, TensorValue)
        and value.address == destination.address
    )


def _may_be_output(value: Value, destination: Value) -> bool:
    """Whether an input is the tensor passed as ``out=``, or may have been picked as it was.

    As everywhere in an analysis, a value of which nothing is known counts as another object.
    """
    if isinstance(value, TensorValue) and isinstance(destination, TensorValue):
        return identities.have_one_origin(value, destination)
    return isinstance(value, Opaque) and value == destination


def has_failed(value: Value, store: Store) -> bool:
    """Whether an operand is, or contains, the missing result of a call that failed."""
    kind = value.__class__
    if kind is TensorValue or kind is Const:
        return False
    if isinstance(value, ListValue):
        content = joins.items(value, store)
        value = content if isinstance(content, Repeated) else TupleValue(content)
    return values.has_failed(value)


def facts_of(tensor: Tensor, span: Span) -> OperandFacts:
    """The facts about a tensor operand."""
    names = tuple(map(naming.word, tensor.names)) if tensor.dims.complete else None
    labelled = not any(isinstance(name, Axis) for name in tensor.names)
    dtype, device = dtypes.show(tensor.dtype), devices.show(tensor.device)
    return OperandFacts(span, names, labelled, dtype, device)


def has_axes(operand: Any) -> bool:
    """Whether an operand has names, or sizes, from annotations."""
    if isinstance(operand, Tensor):
        named = any(isinstance(name, Axis) for name in operand.names)
        return named or any(isinstance(size, Expression) for size in operand.dims.sizes)
    if isinstance(operand, (tuple, list)):
        return any(map(has_axes, operand))
    return isinstance(operand, Expression)


def is_sized(operand: Any) -> bool:
    """Whether the sizes of all tensors in an operand are known."""
    if isinstance(operand, Tensor):
        return all(isinstance(size, int) for size in operand.dims.sizes)
    return not isinstance(operand, (tuple, list)) or all(map(is_sized, operand))


def sizes_fit(inputs: Sequence[Any]) -> bool:
    """Whether no size of several tensors is unknown, so that it might not fit the others."""
    several = sum(isinstance(operand, (Tensor, tuple, list)) for operand in inputs) > 1
    return not several or all(map(is_sized, inputs))


def is_known(operand: Any) -> bool:
    """Whether everything about an operand is known that an operator's names depend on."""
    if isinstance(operand, Tensor):
        return operand.dims.complete
    if isinstance(operand, (tuple, list)):
        return all(map(is_known, operand))
    return operand is not UNKNOWN and not isinstance(operand, (Many, Maybe))


def may_be_one(input: Tensor, tensor: Tensor) -> bool:
    """Whether a result may be the input tensor itself."""
    return (
        input.dims == tensor.dims
        and dtypes.may_be_one(input.dtype, tensor.dtype)
        and not devices.differ(input.device, tensor.device)
    )


def is_one(operator_call: OperatorCall, input: Tensor, tensor: Tensor) -> bool:
    """Whether a result that is the input unless it is changed is certainly the input itself.

    A call that asks for a copy, or for an order in memory, may copy. A device without an index may
    be another one of its kind.
    """
    row, args, keywords = operator_call.row, operator_call.args, operator_call.keywords
    if row is None or input.dims != tensor.dims:
        return False
    if row.may_be == "input of its rank":
        return input.dims.rank is not None
    if row.may_be != "input unless changed":
        return False
    if len(args) > _MOST_OF_NO_COPY or not keywords.keys() <= _OF_NO_COPY:
        return False
    keeps_dtype = not row.dtype or row.dtype == "first" or _is_one_dtype(input, tensor)
    keeps_device = not row.device or (input.device == tensor.device and tensor.device in _SINGLE)
    return keeps_dtype and keeps_device


def is_new(operator_call: OperatorCall, input: Tensor, tensor: Tensor) -> bool:
    """Whether a result that is the input unless its rank changes is certainly another tensor."""
    row, rank, other_rank = operator_call.row, input.dims.rank, tensor.dims.rank
    if row is None or row.may_be != "input of its rank":
        return False
    return rank is not None and other_rank is not None and rank != other_rank


def _is_one_dtype(input: Tensor, tensor: Tensor) -> bool:
    return isinstance(tensor.dtype, str) and input.dtype == tensor.dtype


# The arguments of `to` and its kin that ask for no copy: the tensor, a device, a dtype.
_MOST_OF_NO_COPY: Final = 3
_OF_NO_COPY: Final = frozenset({"dtype", "device", "other", "non_blocking"})
_SINGLE: Final = (devices.CPU, devices.META)


def frozen(value: Any) -> Hashable:
    """A key for a lowered value: equal for equal values of one type (1, 1.0 and True are three)."""
    if not isinstance(value, _CONTAINERS):
        return value.__class__, value
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(frozen, value))
    if isinstance(value, dict):
        return type(value), tuple(map(frozen, value.items()))
    return slice, frozen((value.start, value.stop, value.step))


def tells_more(inference: Inference, earlier_answer: Inference) -> bool:
    """Whether an answer is as good as an earlier one, of operands of which less was known."""
    if inference.contradiction is not None:
        return False
    had_likely = (
        isinstance(earlier_answer.result, Tensor) and earlier_answer.result.likely is not None
    )
    return not had_likely or not inference.result.dims.open


def record(
    recorder: Recorder,
    operator_call: OperatorCall,
    lowered_inputs: Inputs,
    inference: Inference,
    *,
    is_informed: bool,
) -> None:
    """Tell the recorder of a call, and whether enough is known of it to contradict it."""
    tells = inference.contradiction is not None or inference.result is not UNKNOWN
    sized = all(map(is_sized, lowered_inputs.every))
    passed = inference.contradiction is None
    recorder.applied(operator_call.node, is_informed and tells, sized, passed=passed)
    application = Application(
        operator_call.operator,
        tuple(lowered_inputs.args),
        tuple(lowered_inputs.keywords.items()),
        inference.result,
        inference.contradiction,
        operator_call.begun,
    )
    recorder.application(operator_call.node, application)


_CONTAINERS: Final = (list, tuple, dict, slice)
