"""Likely dims: what a call returns if its unknown operands broadcast to the known ones.

``x + self.block(x)`` has the dims of ``x``, unless the block returns something larger. Such dims
are kept beside the certain ones (`Tensor.likely`): operators are applied to them, too, for lints
and readers. docs/semantics.md, "Likely dims", says how far this carries.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from namecheck.core.dataclasses import replace
from namecheck.core.dims import SCALAR
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.sizes import Known, computed
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.addresses import AttributeTensor, HeldTensor, LayerTensor
from namecheck.interpreter.domain.provenance import Item, Operation, OperatorResult, SizeOf
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import OF_MODULE, tag_of
from namecheck.interpreter.domain.values import (
    Const,
    Key,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
)
from namecheck.interpreter.models.torch.operands import Inputs
from namecheck.operators import Inference
from namecheck.rules.registry import traits_of

# The number of elements of a tensor is a number of 63 bits.
_LARGEST: Final = 1 << 63
_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Known]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
}
# The keywords for tensors of the rules that broadcast all their tensors.
_OPERANDS: Final = frozenset({"", "input", "other", "min", "max", "end", "tensor1", "tensor2"})
# Parameters and buffers of modules are broadcast to the data, not the data to them.
_OF_MODULES: Final = (AttributeTensor, HeldTensor, LayerTensor)
# A tensor without dims takes part in a broadcast and changes nothing.
_NEUTRAL: Final = Tensor(SCALAR)


def certain(lowered_inputs: Inputs) -> Inputs:
    """The arguments without what is merely likely."""
    return Inputs(
        list(map(_certain, lowered_inputs.args)),
        {name: _certain(lowered) for name, lowered in lowered_inputs.keywords.items()},
    )


def likely(
    rule: str | None,
    lowered_inputs: Inputs,
    args: Sequence[Value],
    keyword_values: Mapping[str, Value],
    store: Store,
) -> Inputs | None:
    """The arguments with their likely dims; None where nothing more is likely than is certain."""
    keywords = [
        (lowered, keyword_values[name]) for name, lowered in lowered_inputs.keywords.items()
    ]
    operands = [*zip(lowered_inputs.args, args, strict=True), *keywords]
    broadcast = rule is not None and traits_of(rule).aligns == "broadcast"
    pairs = [
        pair
        for name, pair in zip([""] * len(args) + list(keyword_values), operands, strict=True)
        if broadcast and name in _OPERANDS
    ]
    fills = any(_is_vague(lowered) for lowered, _ in pairs)
    if fills and not _fills(pairs):
        return None
    expected = [_likely(lowered, value, store) for lowered, value in operands]
    if not fills and all(
        one is lowered for one, (lowered, _) in zip(expected, operands, strict=True)
    ):
        return None
    count = len(args)
    if fills:
        expected = [
            _NEUTRAL if pair in pairs and _is_vague(one) else one
            for one, pair in zip(expected, operands, strict=True)
        ]
    return Inputs(expected[:count], dict(zip(keyword_values, expected[count:], strict=True)))


def with_likely_answer(inference: Inference, expected: Inference) -> Inference:
    """An inference with the dims of the one from likely arguments."""
    result = _with_likely(inference.result, expected.result)
    after = {
        key: result
        if content is inference.result
        else _with_likely(content, expected.after.get(key))
        for key, content in inference.after.items()
    }
    return replace(inference, result=result, after=after)


def _with_likely(result: Any, likely_result: Any) -> Any:
    """A result of `infer` with the dims of the likely result, part by part."""
    if isinstance(result, Tensor) and isinstance(likely_result, Tensor):
        dims = likely_result.dims
        gains = not result.dims.complete and not dims.open and dims != result.dims
        return replace(result, likely=dims) if gains else result
    if isinstance(result, Many) and isinstance(likely_result, Many):
        return Many(_with_likely(result.each, likely_result.each))
    several = isinstance(result, (tuple, list)) and type(result) is type(likely_result)
    if several and len(result) == len(likely_result):
        return type(result)(map(_with_likely, result, likely_result))
    return result


def _fills(pairs: Sequence[tuple[Any, Value]]) -> bool:
    """Whether the known operands have the shape of the result, as far as one can expect.

    A dim of size 1 is there to be expanded, and a vector or a parameter of a module may well be
    smaller than the other operand. A tensor that is combined with numbers has the result's shape.
    """
    shapes = [
        (lowered.likeliest, value)
        for lowered, value in pairs
        if isinstance(lowered, Tensor) and not _is_vague(lowered)
    ]
    if not shapes:
        return False
    if all(_is_number(value) for lowered, value in pairs if _is_vague(lowered)):
        return True
    rank = max(dims.min_rank for dims, _ in shapes)
    return rank > 1 and any(
        dims.rank == rank and all(size != 1 for size in dims.sizes) and not _is_of_module(value)
        for dims, value in shapes
    )


def _is_of_module(value: Value) -> bool:
    if not isinstance(value, TensorValue):
        return False
    return isinstance(value.address, _OF_MODULES) or bool(tag_of(value.tags, OF_MODULE))


def _is_number(value: Value) -> bool:
    """Whether an unknown value is a number, since arithmetic with a number made it: ``d**-0.5``."""
    if not isinstance(value, Opaque) or not isinstance(value.key.provenance, Operation):
        return False
    return any(
        isinstance(operand, Const) and isinstance(operand.value, (int, float))
        for operand in value.key.provenance.operands
    )


def _is_vague(lowered: Any) -> bool:
    """Whether the rank of an operand is not even likely."""
    if isinstance(lowered, Tensor):
        return lowered.likeliest.open
    return lowered is UNKNOWN


def _likely(lowered: Any, value: Value, store: Store) -> Any:
    """An argument with its likely dims, or its likely sizes; itself where it has none."""
    if lowered is UNKNOWN:
        size = likely_size(value) if isinstance(value, Opaque) else None
        return UNKNOWN if size is None else size
    if isinstance(lowered, Tensor):
        certain = lowered.likely is None
        return lowered if certain else replace(lowered, dims=lowered.likeliest, likely=None)
    if isinstance(lowered, Many):
        certain = lowered.each.likely is None
        return lowered if certain else Many(replace(lowered.each, dims=lowered.each.likeliest))
    if isinstance(lowered, (tuple, list)):
        items = _items(value, store)
        if len(items) == len(lowered):
            parts = [_likely(one, item, store) for one, item in zip(lowered, items, strict=True)]
            if any(part is not one for part, one in zip(parts, lowered, strict=True)):
                return type(lowered)(parts)
    return lowered


def _items(value: Value, store: Store) -> tuple[Value, ...]:
    if isinstance(value, ListValue):
        content = joins.items(value, store)
        return () if isinstance(content, Repeated) else content
    return value.items if isinstance(value, TupleValue) else ()


def likely_size(part: object) -> Known | None:
    """The size that an unknown int likely is: of a dim of a tensor, or computed from such sizes.

    `part` is a value, or the identity of one.
    """
    return _size_of(part, {})


def _size_of(part: object, size_of_key: dict[Key, Known | None]) -> Known | None:
    """The likely size of a value; the same part of several parts is computed once."""
    if isinstance(part, Const):
        return part.value if type(part.value) is int else None
    key = part.key if isinstance(part, Opaque) else part
    if not isinstance(key, Key):
        return None
    if key not in size_of_key:
        size = _computed(key, size_of_key)
        is_huge = isinstance(size, int) and abs(size) > _LARGEST
        size_of_key[key] = None if is_huge else size
    return size_of_key[key]


def _computed(key: Key, size_of_key: dict[Key, Known | None]) -> Known | None:
    match key.provenance:
        case SizeOf(size):
            return size
        case Item(Key() as container, int() as index, "int"):
            match container.provenance:
                case OperatorResult(operands=((_, Tensor() as tensor),)) as query if (
                    query.reads_shape
                ):
                    return _size_at(tensor, index)
        case OperatorResult(
            "size" | "Tensor.size", ((_, Tensor() as tensor), Const(value=int() as at))
        ):
            return _size_at(tensor, at)
        case OperatorResult(_, ((_, Tensor() as tensor),), (), (at,)) as query if query.reads_shape:
            return _size_at(tensor, at)
        case Operation(name, (one, other)) if name in _ARITHMETIC:
            left, right = _size_of(one, size_of_key), _size_of(other, size_of_key)
            divides = name in ("FloorDiv", "Mod")
            if left is None or right is None or (divides and right == 0):
                return None
            return computed(_ARITHMETIC[name], left, right)
    return None


def _size_at(tensor: Tensor, index: int) -> Known | None:
    size = tensor.likeliest[index].size
    return None if isinstance(size, Unknown) else size


def _certain(lowered: Any) -> Any:
    if isinstance(lowered, Tensor):
        return lowered if lowered.likely is None else replace(lowered, likely=None)
    if isinstance(lowered, Many):
        return lowered if lowered.each.likely is None else Many(_certain(lowered.each))
    if isinstance(lowered, (tuple, list)):
        parts = list(map(_certain, lowered))
        if any(part is not one for part, one in zip(parts, lowered, strict=True)):
            return type(lowered)(parts)
    return lowered
