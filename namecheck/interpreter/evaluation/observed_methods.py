"""Calls and subscripts of unknown values that only a tensor takes: ``x.sum(dim=-1)``, ``x[:, 0]``.

A file without arrays has few other objects that are reduced along a dim, or taken apart along two.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.interpreter.domain.provenance import Attribute
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    Opaque,
    SliceValue,
    TorchMethod,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import observed_axes
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# Methods that take the number of a dim, the first of their arguments.
_OF_DIMS: Final = frozenset(
    {
        "all", "amax", "amin", "any", "argmax", "argmin", "cumprod", "flip", "log_softmax", "max",
        "mean", "median", "min", "prod", "softmax", "std", "sum", "var",
    }
)  # fmt: skip
_KEYWORDS: Final = frozenset({"dim", "keepdim"})


def called(
    interpreter: Interpreter, call_node: ast.Call, callee: Value, store: Store, frame: Frame
) -> Value:
    """The method of a tensor that an unknown callee is, by its arguments; else the callee."""
    function = call_node.func
    if not isinstance(callee, Opaque) or not isinstance(callee.key.provenance, Attribute):
        return callee
    if not isinstance(function, ast.Attribute) or not _takes_dim(call_node, function.attr):
        return callee
    operator = interpreter.torch.method(function.attr)
    if operator is None or not isinstance(function.value, (ast.Name, ast.Attribute)):
        return callee
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        owner = interpreter.evaluate(function.value, store, frame)
    if not isinstance(owner, Opaque) or owner.kind is not None:
        return callee
    if not observed_axes.may_promote(interpreter, owner, store, frame):
        return callee
    return TorchMethod(operator, interpreter.torch.promote(owner, store))


def subscripted(opaque: Opaque, index: Value, node: ast.AST, frame: Frame) -> bool:
    """Whether an unknown value is a tensor, as it has dims: ``x[:, 0]``, ``x[..., None]``."""
    if not isinstance(index, TupleValue) or not isinstance(node, ast.Subscript):
        return False
    if opaque.kind is not None or not isinstance(node.value, ast.Name):
        return False
    cuts = [isinstance(item, SliceValue) or item == Const(...) for item in index.items]
    scope = frame.environment.scope
    return any(cuts) and observed_axes.is_used_as_tensor(node.value.id, scope)


def _takes_dim(call_node: ast.Call, method: str) -> bool:
    """Whether a call has the number of a dim among its arguments."""
    if any(word.arg in _KEYWORDS and _is_dim(word.value) for word in call_node.keywords):
        return True
    return method in _OF_DIMS and bool(call_node.args) and _is_dim(call_node.args[0])


def _is_dim(expression: ast.expr) -> bool:
    """Whether an expression is the number of a dim, several, or a flag."""
    try:
        number = ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError):
        return False
    if isinstance(number, (tuple, list)):
        return bool(number) and all(type(item) is int for item in number)
    return isinstance(number, int)
