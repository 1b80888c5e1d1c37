"""Observed axes: ``B, T, C = x.shape`` names the dims of `x`, for the author has named them.

An unpacking proves the rank of a tensor, and each variable is the size of one of its dims. A dim
without a name becomes an axis of that name. Each unpacking is a scope of its own: whether its axes
equal those of another one is unknown, but they are different dims of one tensor.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dim, Dims, of_rank
from namecheck.core.names import UNKNOWN, Axis
from namecheck.core.sizes import symbol
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Opaque,
    TensorValue,
)
from namecheck.interpreter.evaluation import narrowing
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# Methods that a tensor has, and neither an array, an image, a frame nor a module.
_TENSOR_METHODS: Final = frozenset(
    {
        "bmm", "contiguous", "expand_as", "index_select", "masked_fill", "masked_fill_", "mm",
        "new_full", "new_ones", "new_tensor", "new_zeros", "permute", "type_as", "unbind",
        "unsqueeze", "view", "view_as",
    }
)  # fmt: skip
_FUNCTIONS: Final = frozenset({"torch", "F", "nn", "functional", "einops", "rearrange"})
_FOREIGN: Final = frozenset({"np", "numpy", "cv2", "Image", "jnp", "jax", "tf", "pd", "plt", "sk"})


def observe(interpreter: Interpreter, assignment: ast.Assign, store: Store, frame: Frame) -> None:
    """Name the dims of the tensor whose sizes an assignment unpacks."""
    subject = _subject_of(assignment.value)
    words = _words(assignment.targets)
    if subject is None or not words or len(set(words)) < len(words):
        return
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        value = interpreter.evaluate(subject, store, frame)
    if isinstance(value, Opaque) and _is_tensor(interpreter, value, subject, store, frame):
        value = interpreter.torch.promote(value, store)
    if not isinstance(value, TensorValue):
        return
    content = joins.held(value, store)
    closed = of_rank(content.tensor.dims, len(words))
    if closed is None:
        return
    scope = interpreter.new_address()
    pairs = zip(closed.prefix, words, strict=True)
    named = Dims(tuple(_observed(dim, word, scope) for dim, word in pairs))
    if named != content.tensor.dims:
        joins.write(value, store, replace(content, tensor=replace(content.tensor, dims=named)))


def _subject_of(expression: ast.expr) -> ast.Name | ast.Attribute | None:
    """The tensor of which an expression reads all sizes: ``x.shape``, ``x.size()``."""
    if isinstance(expression, ast.Call) and not expression.args and not expression.keywords:
        query, word = expression.func, "size"
    else:
        query, word = expression, "shape"
    if isinstance(query, ast.Attribute) and query.attr == word:
        return query.value if isinstance(query.value, (ast.Name, ast.Attribute)) else None
    return None


def _words(target_nodes: list[ast.expr]) -> list[str]:
    """The variables that an assignment unpacks into; none if it does not, or into other things."""
    if len(target_nodes) != 1 or not isinstance(target_nodes[0], (ast.Tuple, ast.List)):
        return []
    elements = target_nodes[0].elts
    words = [element.id for element in elements if isinstance(element, ast.Name)]
    if len(words) < len(elements):
        return []
    # An underscore says nothing, and may stand more than once.
    return [f"{word}{number}" if word == "_" else word for number, word in enumerate(words)]


def _observed(dim: Dim, word: str, scope: int) -> Dim:
    """A dim without a name, as the axis of its size's variable."""
    if word.startswith("_") or not (dim.name is UNKNOWN or dim.name is None):
        return dim
    own = naming.scoped(word, scope)
    return replace(dim, name=Axis(own), size=symbol(own) if dim.size is UNKNOWN else dim.size)


def is_of_tensors(interpreter: Interpreter, method: str, frame: Frame) -> bool:
    """Whether a method that is read in a file can only be one of a tensor."""
    if method not in _TENSOR_METHODS:
        return False
    return method != "view" or not _has_arrays(interpreter, frame)


def _has_arrays(interpreter: Interpreter, frame: Frame) -> bool:
    """Whether the file of a frame has other things than tensors that have a shape."""
    context = interpreter.context
    return context.files.has_arrays(context.source_of(frame.environment))


def _is_tensor(
    interpreter: Interpreter, opaque: Opaque, expression: ast.expr, store: Store, frame: Frame
) -> bool:
    """Whether an unknown value of which all sizes are read can only be a tensor."""
    if narrowing.is_tensor(opaque, store) or not _has_arrays(interpreter, frame):
        return True
    return isinstance(expression, ast.Name) and _used_as_tensor(
        expression.id, frame.environment.scope
    )


def _used_as_tensor(word: str, definition: ast.AST) -> bool:
    """Whether a function uses its parameter as only a tensor can be used."""
    used = False
    for node in nodes(definition):
        if not isinstance(node, ast.Call):
            continue
        callee = node.func
        if isinstance(callee, ast.Attribute) and _is(callee.value, word):
            used |= callee.attr in _TENSOR_METHODS
        if any(_is(argument, word) for argument in node.args):
            first = callee
            while isinstance(first, ast.Attribute):
                first = first.value
            if isinstance(first, ast.Name):
                if first.id in _FOREIGN:
                    return False
                used |= first.id in _FUNCTIONS
    return used


def _is(expression: ast.expr, word: str) -> bool:
    return isinstance(expression, ast.Name) and expression.id == word
