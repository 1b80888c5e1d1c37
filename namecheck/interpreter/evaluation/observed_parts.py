"""Parts of a tensor that are as many as another dim is long: ``q, k, v = qkv[0], qkv[1], qkv[2]``.

``qkv.reshape(B, N, 3, H, D)`` has a dim for its three parts. Whoever takes three parts along
another dim, whose size the code calls `B`, has not moved that dim to where the parts are taken.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass
from namecheck.core.names import Contradiction
from namecheck.core.sizes import Expression
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import TensorValue
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# Two items of a tensor may well be taken beside a dim of size 2; three, beside one of 3, are all.
_FEWEST_ITEMS: Final = 3
_LEAST_RANK: Final = 3


@dataclass(frozen=True, slots=True)
class _Parts:
    """How many parts are taken of a variable, along which dim."""

    variable: ast.Name
    count: int
    index: int


def check(interpreter: Interpreter, assignment: ast.Assign, store: Store, frame: Frame) -> None:
    """Report an assignment that takes as many parts along one dim as another one has."""
    if len(assignment.targets) != 1:
        return
    parts = _parts(assignment.targets[0], assignment.value)
    if parts is None:
        return
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        value = interpreter.evaluate(parts.variable, store, frame)
    if not isinstance(value, TensorValue):
        return
    content = joins.held(value, store)
    dims = content.tensor.dims
    if dims.open or len(dims.prefix) < max(_LEAST_RANK, parts.index + 1):
        return
    index = parts.index if parts.index >= 0 else parts.index + len(dims.prefix)
    dim = dims.prefix[index] if index >= 0 else None
    if dim is None or not isinstance(dim.size, Expression) or parts.count not in dims.sizes:
        return
    other = dims.sizes.index(parts.count)
    message = (
        f"'{parts.variable.id}' is taken apart into {parts.count} parts along dim {index}, of size "
        f"{dim.size}, but the dim of size {parts.count} is dim {other}: it is right only if "
        f"{dim.size} = {parts.count}."
    )
    words = naming.words([dim.name])
    contradiction = Contradiction(
        "NC101", message, names=words, help="Move the dim of the parts to where they are taken."
    )
    mark = interpreter.place(parts.variable, dims.show())
    origins = [content.origins[word] for word in words if word in content.origins]
    interpreter.report(
        contradiction,
        assignment.targets[0],
        store,
        frame,
        (mark,),
        tuple(origins),
        by_axes=True,
        is_observed=True,
    )


def _parts(lvalue: ast.expr, expression: ast.expr) -> _Parts | None:
    """The parts that ``lvalue = expression`` takes of a variable."""
    if not isinstance(lvalue, (ast.Tuple, ast.List)) or len(lvalue.elts) < 2:
        return None
    if any(isinstance(node, ast.Starred) for node in lvalue.elts):
        return None
    count = len(lvalue.elts)
    if isinstance(expression, ast.Name):
        return _Parts(expression, count, 0)
    if isinstance(expression, ast.Tuple):
        return _of_items(expression, count)
    return _of_unbind(expression, count)


def _of_items(tuple_node: ast.Tuple, count: int) -> _Parts | None:
    """``x[0], x[1], x[2]``."""
    if count < _FEWEST_ITEMS or len(tuple_node.elts) != count:
        return None
    variable: ast.Name | None = None
    for number, node in enumerate(tuple_node.elts):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return None
        if not isinstance(node.slice, ast.Constant) or node.slice.value != number:
            return None
        if variable is not None and node.value.id != variable.id:
            return None
        variable = node.value
    return None if variable is None else _Parts(variable, count, 0)


def _of_unbind(expression: ast.expr, count: int) -> _Parts | None:
    """``x.unbind(0)``, ``torch.unbind(x, dim=2)``."""
    if not isinstance(expression, ast.Call) or not isinstance(expression.func, ast.Attribute):
        return None
    arguments = list(expression.args)
    if expression.func.attr != "unbind":
        return None
    subject = expression.func.value
    if isinstance(subject, ast.Name) and subject.id == "torch" and arguments:
        subject = arguments.pop(0)
    arguments += [word.value for word in expression.keywords if word.arg == "dim"]
    if not isinstance(subject, ast.Name) or len(arguments) > 1:
        return None
    try:
        index = ast.literal_eval(arguments[0]) if arguments else 0
    except ValueError:
        return None
    return _Parts(subject, count, index) if type(index) is int else None
