"""Unpacking the shape of a tensor: ``b, t, d = x.shape`` says that `x` has three dims."""

from __future__ import annotations

import ast

from namecheck.core.dataclasses import replace
from namecheck.core.dims import of_rank
from namecheck.core.tensors import Tensor, covers
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.provenance import OperatorResult
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Held, Opaque, TensorValue, TupleValue, Value
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter


def ranked(
    interpreter: Interpreter,
    value: Value,
    target_nodes: ast.Tuple | ast.List,
    store: Store,
    frame: Frame,
) -> Value:
    """The sizes of a tensor of unknown rank that are unpacked into so many targets.

    After that the tensor has this rank, or the program has failed. Any other value is unchanged.
    """
    if not isinstance(value, Opaque) or any(
        isinstance(target_node, ast.Starred) for target_node in target_nodes.elts
    ):
        return value
    match value.key.provenance:
        case OperatorResult(operands=((address, Tensor() as tensor),)) as query if (
            query.reads_shape
        ):
            tensor_value = TensorValue(address, Held(tensor))
        case _:
            return value
    content = joins.held(tensor_value, store)
    closed = of_rank(content.tensor.dims, len(target_nodes.elts))
    if content.tensor != tensor or not content.tensor.dims.open or closed is None:
        return value
    joins.write(tensor_value, store, replace(content, tensor=replace(tensor, dims=closed)))
    return interpreter.torch.call("shape", [tensor_value], {}, target_nodes, store, frame)


def tensor_of_shape(value: Value, store: Store) -> TensorValue | None:
    """The tensor of which a value is the shape, if it has the shape still."""
    query = value
    if isinstance(value, TupleValue):
        query = next((each for each in value.items if isinstance(each, Opaque)), value)
    if not isinstance(query, Opaque):
        return None
    match query.key.provenance:
        case OperatorResult(operands=((address, Tensor() as tensor),)) as result if (
            result.reads_shape
        ):
            tensor_value = TensorValue(address, Held(tensor))
            content = joins.held(tensor_value, store)
            return tensor_value if covers(tensor, content.tensor) else None
    return None
