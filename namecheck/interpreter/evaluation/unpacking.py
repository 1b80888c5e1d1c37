"""Unpacking the shape of a tensor: ``b, t, d = x.shape`` says that `x` has three dims.

And the pieces of one: ``q, k, v = x.chunk(2, -1)`` cannot be.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.dims import of_rank
from namecheck.core.names import Contradiction
from namecheck.core.tensors import Tensor, covers
from namecheck.core.trees import last_word
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.provenance import (
    Attribute,
    Item,
    OperatorResult,
    Parameter,
)
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Held, Opaque, TensorValue, TupleValue, Value
from namecheck.interpreter.evaluation import refused_ranks
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

_CUTS: Final = frozenset(
    {
        "chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind",
        "unsafe_chunk", "unsafe_split", "vsplit",
    }
)  # fmt: skip


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


def refuse_count(
    interpreter: Interpreter,
    value: Value,
    target_nodes: ast.Tuple | ast.List,
    store: Store,
    frame: Frame,
) -> bool:
    """Report sizes, or pieces, that are unpacked into more or fewer targets where they are read.

    False where that is not certain to be wrong.
    """
    statement = interpreter.file.statement
    if not isinstance(statement, ast.Assign) or target_nodes not in statement.targets:
        return False
    if not isinstance(value, TupleValue):
        return False
    match statement.value:
        case ast.Attribute(value=measured_node, attr="shape"):
            pass
        case ast.Call(func=ast.Attribute(value=measured_node, attr="size"), args=[], keywords=[]):
            pass
        case ast.Call(func=cut):
            return _refuse_pieces(interpreter, value, last_word(cut), target_nodes, store, frame)
        case _:
            return False
    return _refuse_sizes(interpreter, measured_node, statement.value, target_nodes, store, frame)


def _refuse_pieces(
    interpreter: Interpreter,
    cut_tensors: TupleValue,
    word: str | None,
    target_nodes: ast.Tuple | ast.List,
    store: Store,
    frame: Frame,
) -> bool:
    starred = any(isinstance(target, ast.Starred) for target in target_nodes.elts)
    if (
        word not in _CUTS
        or starred
        or not all(isinstance(piece, TensorValue) for piece in cut_tensors.items)
    ):
        return False
    count, got = len(target_nodes.elts), len(cut_tensors.items)
    few = f"not enough values to unpack (expected {count}, got {got})"
    message = f"too many values to unpack (expected {count})" if got > count else few
    plural = "" if got == 1 else "s"
    contradiction = Contradiction(
        "NC206", message, error="ValueError", help=f"{word}() gives {got} piece{plural} here."
    )
    is_observed = interpreter.context.evidence.is_observed
    interpreter.report(contradiction, target_nodes, store, frame, is_observed=is_observed)
    return True


def _refuse_sizes(
    interpreter: Interpreter,
    measured_node: ast.expr,
    shape_node: ast.expr,
    target_nodes: ast.Tuple | ast.List,
    store: Store,
    frame: Frame,
) -> bool:
    """Report all sizes of a tensor that are unpacked into more or fewer targets.

    After a branch that nobody can decide, or a return, the tensor may be meant for another path.
    Where axes are observed, `observed_axes` judges the reading before.
    """
    if interpreter.context.evidence.is_observed or frame.undecided or frame.exits:
        return False
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        tensor_value = interpreter.evaluate(measured_node, store, frame)
    if not isinstance(tensor_value, TensorValue):
        return False
    content = joins.held(tensor_value, store)
    if content.tensor.dims.open:
        return False
    starred = sum(isinstance(target, ast.Starred) for target in target_nodes.elts)
    least = len(target_nodes.elts) - starred
    shape_text = ast.unparse(shape_node)
    demand = refused_ranks.demand_of_sizes(least, shape_text, is_least=bool(starred))
    contradiction = refused_ranks.wrong_rank(content.tensor.dims, demand)
    origins = tuple(content.origins.values())[:1]
    interpreter.report(contradiction, measured_node, store, frame, (), origins)
    return True


def itemised(opaque: Opaque, target_nodes: ast.Tuple | ast.List) -> Value:
    """The items of a parameter or attribute: ``h, w = size`` reads ``size[0]`` and ``size[1]``.

    So a number has one symbol, whichever way it is read. Any other value is unchanged.
    """
    if not isinstance(opaque.key.provenance, (Parameter, Attribute, Item)) or any(
        isinstance(target_node, ast.Starred) for target_node in target_nodes.elts
    ):
        return opaque
    places = range(len(target_nodes.elts))
    return TupleValue(tuple(Opaque(Item(opaque.key, place, "int")) for place in places))


def tensor_of_shape(value: Value, store: Store) -> TensorValue | None:
    """The tensor of which a value is the shape, if it has the shape still.

    A part of a shape is none, nor are sizes in another order: ``x.shape[-3:]``, ``x.shape[::-1]``.
    """
    if not isinstance(value, TupleValue):
        return _queried(value, (), store)
    found = [
        _queried(item, (place,), store)
        for place, item in enumerate(value.items)
        if isinstance(item, Opaque)
    ]
    tensor_value = found[0] if found else None
    if tensor_value is None or any(each != tensor_value for each in found):
        return None
    rank = joins.held(tensor_value, store).tensor.dims.rank
    return tensor_value if rank == len(value.items) else None


def _queried(value: Value, path: tuple[int, ...], store: Store) -> TensorValue | None:
    """The tensor of whose shape a value is, or of a place in it, if it has the shape still."""
    if not isinstance(value, Opaque):
        return None
    match value.key.provenance:
        case OperatorResult(operands=((address, Tensor() as tensor),)) as query if (
            query.reads_shape and query.path == path
        ):
            tensor_value = TensorValue(address, Held(tensor))
            content = joins.held(tensor_value, store)
            return tensor_value if covers(tensor, content.tensor) else None
    return None
