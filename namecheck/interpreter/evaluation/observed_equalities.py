"""Tests that sizes are equal: ``assert x.shape == y.shape``, ``y.shape[1:] == (H, W)``.

Where such a test holds, each dim of one tensor has the size of a dim of the other: one of which
nothing is known becomes the same axis. Where all sizes of one side are known, so is the rank of the
tensor on the other side.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, Dim, Dims, named_by, of_rank
from namecheck.core.findings import Place
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import Expression
from namecheck.core.trees import compared_pairs, last_word
from namecheck.interpreter.domain import joins, size_symbols
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.evaluation import observed_axes
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.size_readings import Part, part_of
from namecheck.rules.dim_map import reaching

_CHECK: Final = r"([A-Z]+_)?(CHECK|check|require)|_?assert_?"


class _Known(NamedTuple):
    """Dims whose sizes stand on one side of a test, and where their names were read."""

    dims: Sequence[Dim]
    origins: Mapping[str, Place] = {}


def checked(expression: ast.expr) -> ast.expr | None:
    """The test that a statement's call passes to a function that raises unless it is true."""
    if not isinstance(expression, ast.Call) or not expression.args:
        return None
    test = expression.args[0]
    is_test = isinstance(test, (ast.Compare, ast.BoolOp))
    return test if is_test and re.fullmatch(_CHECK, last_word(expression.func)) else None


def learn_all(interpreter: Interpreter, test: ast.expr, store: Store, frame: Frame) -> None:
    """Write what follows from a test that a called function has found to be true."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            learn_all(interpreter, part, store, frame)
    elif isinstance(test, ast.Compare):
        for operator, left, right in compared_pairs(test):
            if isinstance(operator, ast.Eq):
                learn(interpreter, left, right, store, frame)


def learn(
    interpreter: Interpreter, left_node: ast.expr, right_node: ast.expr, store: Store, frame: Frame
) -> None:
    """Write what follows from ``left == right`` to the tensors whose sizes are compared.

    The tensor with more dims gives the names: it has one for each dim of the other.
    """
    sides = [(left_node, right_node), (right_node, left_node)]
    ranks = [_least_rank(interpreter, node, store, frame) for node, _ in sides]
    for node, other_node in reversed(sides) if ranks[0] > ranks[1] else sides:
        of_shape = part_of(node)
        known = (
            None if of_shape is None else _known(interpreter, other_node, of_shape, store, frame)
        )
        if of_shape is not None and known is not None:
            _write(interpreter, of_shape, known, store, frame)


def _least_rank(interpreter: Interpreter, expression: ast.expr, store: Store, frame: Frame) -> int:
    """How many dims the tensor has at least, of whose shape a side of a test is a part."""
    of_shape = part_of(expression)
    if of_shape is None:
        return 0
    value = observed_axes.tensor_of(interpreter, of_shape.subject, store, frame)
    return 0 if value is None else joins.held(value, store).tensor.dims.min_rank


def _known(
    interpreter: Interpreter, expression: ast.expr, beside: Part, store: Store, frame: Frame
) -> _Known | None:
    """The dims whose sizes an expression has, which is compared with a part of a shape."""
    of_shape = part_of(expression)
    if of_shape is not None:
        if of_shape.is_single is not beside.is_single:
            return None
        if of_shape.is_single:
            observed_axes.observe_inline(interpreter, expression, store, frame)
        else:
            subjects = of_shape.subject, beside.subject
            observed_axes.observe_shape(interpreter, *subjects, store, frame)
        value = observed_axes.tensor_of(interpreter, of_shape.subject, store, frame)
        content = None if value is None else joins.held(value, store)
        dims = None if content is None else _taken(content.tensor.dims, of_shape)
        return None if content is None or dims is None else _Known(dims, content.origins)
    items = [expression] if beside.is_single else _items(expression)
    if items is None:
        return None
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        found = [interpreter.evaluate(item, store, frame) for item in items]
    sizes = [size_symbols.symbolic(value) for value in found]
    return _Known([ANY_DIM if size is None else Dim(named_by(size), size) for size in sizes])


def _items(expression: ast.expr) -> Sequence[ast.expr] | None:
    """The sizes in ``(B, T)``, ``[B, T]``, ``torch.Size([B, T])``."""
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        return (
            _items(expression.args[0])
            if expression.func.attr == "Size" and expression.args
            else None
        )
    if not isinstance(expression, (ast.Tuple, ast.List)):
        return None
    return (
        None if any(isinstance(item, ast.Starred) for item in expression.elts) else expression.elts
    )


def _taken(dims: Dims, of_shape: Part) -> Sequence[Dim] | None:
    """The dims of a part of a shape; None where it is unknown which they are."""
    first, end = of_shape.first, of_shape.end
    if not dims.open:
        return dims.prefix[first:end]
    if first < 0 and (end is None or end < 0):
        return dims.suffix[first:end] if -first <= len(dims.suffix) else None
    if end is not None and 0 <= first < end <= len(dims.prefix):
        return dims.prefix[first:end]
    return None


def _placed(dims: Dims, of_shape: Part, count: int) -> tuple[Dims, int] | None:
    """The dims of a tensor of whose shape a part has `count` sizes, and the place of the first."""
    first, end = of_shape.first, of_shape.end
    if first >= 0 and (end is None or end < 0):
        closed = of_rank(dims, first + count - (end or 0))
        return None if closed is None else (closed, first)
    if first < 0 and (end is None or end < 0):
        least = -first
        if count != least + (end or 0) or (not dims.open and len(dims.prefix) < least):
            return None
        if not dims.open:
            return dims, len(dims.prefix) - least
        return reaching(dims, first, scalars=False), first
    if end is None or first < 0 or count != end - first:
        return None
    if not dims.open:
        return (dims, first) if len(dims.prefix) >= end else None
    return reaching(dims, end - 1, scalars=False), first


def _write(
    interpreter: Interpreter, of_shape: Part, known: _Known, store: Store, frame: Frame
) -> None:
    """Write the dims of a part of a tensor's shape."""
    value = observed_axes.tensor_of(interpreter, of_shape.subject, store, frame)
    if value is None:
        return
    content = joins.held(value, store)
    placed = _placed(content.tensor.dims, of_shape, len(known.dims))
    if placed is None:
        return
    dims, first = placed
    for index, known_dim in enumerate(known.dims, first):
        dims = dims.replace(index, _equal(dims[index], known_dim))
    if dims != content.tensor.dims:
        tensor = replace(content.tensor, dims=dims)
        origins = {**known.origins, **content.origins}
        joins.write(value, store, replace(content, tensor=tensor, origins=origins))


def _equal(dim: Dim, other_dim: Dim) -> Dim:
    """A dim that has the size of another one: the same axis, where nothing is known of it."""
    if dim.size is not UNKNOWN or other_dim.size is UNKNOWN:
        return dim
    is_free = dim.name is UNKNOWN or dim.name is None
    named = is_free and isinstance(other_dim.size, Expression)
    return replace(dim, name=other_dim.name if named else dim.name, size=other_dim.size)
