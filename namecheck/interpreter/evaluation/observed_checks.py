"""Calls that check the shape of a tensor: ``check_shape(x, ["B", "C", "H", "W"])``.

Many projects have a function of their own for that, or that of a library. The words of its list are
names of dims, which no other call shares; a number, or a string of digits, is a size. A ``*`` at
one end stands for any dims.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import ANY_DIM, Dim, Dims, of_rank
from namecheck.core.names import UNKNOWN, Axis
from namecheck.core.sizes import Expression, symbol
from namecheck.core.trees import last_word
from namecheck.interpreter.domain import joins, opaque_tensors
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import OBSERVED_SCOPE, with_tag
from namecheck.interpreter.domain.values import Held, Opaque, TensorValue
from namecheck.interpreter.evaluation import observed_axes, refused_ranks
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

_CHECK: Final = r"(\w+_)?(check|assert|ensure|validate|CHECK)_(tensor_)?(shape|SHAPE)"
_ANY: Final = "*"

# A word, a size, or None for any dim.
_Wanted = str | int | None


def observe(interpreter: Interpreter, expression: ast.expr, store: Store, frame: Frame) -> None:
    """Name the dims of a tensor whose shape a statement checks."""
    check = _check(interpreter, expression, store, frame)
    places = None if check is None else _places(check.content(store).tensor.dims, check.wanted_dims)
    if check is None or places is None:
        return
    content = check.content(store)
    scope = interpreter.new_address()
    wanted_dims = check.wanted_dims
    named = [wanted for wanted in wanted_dims if wanted != _ANY]
    dims, origins = places, dict(content.origins)
    front = len(named) if wanted_dims[-1:] == [_ANY] or not dims.open else 0
    for index, wanted in enumerate(named):
        position = index if front else index - len(named)
        dim = _named(dims[position], wanted, scope)
        if isinstance(wanted, str) and dim != dims[position]:
            origins.setdefault(wanted, interpreter.place(check.list_node, "checked here"))
        dims = dims.replace(position, dim)
    if dims != content.tensor.dims:
        tags = with_tag(content.tags, OBSERVED_SCOPE, scope)
        tensor = replace(content.tensor, dims=dims)
        changed = replace(content, tensor=tensor, origins=origins, tags=tags)
        joins.write(check.tensor_value, store, changed)


def judge(interpreter: Interpreter, expression: ast.expr, store: Store, frame: Frame) -> None:
    """Report a tensor of another rank than that which a statement checks, before it raises.

    A call with an option may return the outcome instead.
    """
    check = _check(interpreter, expression, store, frame)
    if check is None or not isinstance(expression, ast.Call) or expression.keywords:
        return
    dims = check.content(store).tensor.dims
    if dims.open:
        return
    if _places(dims, check.wanted_dims) is not None:
        refused_ranks.accept(interpreter, check.tensor_value, expression, frame)
        return
    words = map(ast.unparse, (expression.func, check.list_node, expression.args[0]))
    demand = "'{}' takes {} of {}".format(*words)
    refused_ranks.refuse(interpreter, check.tensor_value, expression, demand, store, frame)


@dataclass(frozen=True, slots=True)
class _Check:
    """A tensor, and the dims that it is checked to have."""

    tensor_value: TensorValue
    wanted_dims: list[_Wanted]
    list_node: ast.expr

    def content(self, store: Store) -> Held:
        """What is known of the tensor."""
        return joins.held(self.tensor_value, store)


def _check(
    interpreter: Interpreter, expression: ast.expr, store: Store, frame: Frame
) -> _Check | None:
    """The check of a shape that a statement is; None for any other statement."""
    if not isinstance(expression, ast.Call) or len(expression.args) < 2:
        return None
    subject, list_node = expression.args[:2]
    is_check = re.fullmatch(_CHECK, last_word(expression.func))
    if not isinstance(subject, (ast.Name, ast.Attribute)) or not is_check:
        return None
    wanted_dims = _wanted_dims(list_node)
    if wanted_dims is None:
        return None
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        value = interpreter.evaluate(subject, store, frame)
    if isinstance(value, Opaque) and _is_tensor(value, subject, store, frame):
        value = interpreter.torch.promote(value, store)
    return _Check(value, wanted_dims, list_node) if isinstance(value, TensorValue) else None


def _is_tensor(opaque: Opaque, expression: ast.expr, store: Store, frame: Frame) -> bool:
    """Whether an unknown value is certainly a tensor: others check the shape of a shape."""
    if opaque_tensors.is_tensor(opaque, store):
        return True
    scope = frame.environment.scope
    return isinstance(expression, ast.Name) and observed_axes.is_used_as_tensor(
        expression.id, scope
    )


def _wanted_dims(list_node: ast.expr) -> list[_Wanted] | None:
    """The words and sizes of a list; None where it has anything else."""
    if not isinstance(list_node, (ast.List, ast.Tuple)):
        return None
    wanted_dims: list[_Wanted] = []
    for node in list_node.elts:
        content = node.value if isinstance(node, ast.Constant) else ...
        if isinstance(content, str) and (content == _ANY or content.isidentifier()):
            wanted_dims.append(content)
        elif isinstance(content, str) and content.isdecimal():
            wanted_dims.append(int(content))
        elif content is None or type(content) is int:
            wanted_dims.append(content)
        elif content is ... and not isinstance(node, ast.Starred):
            wanted_dims.append(None)
        else:
            return None
    if wanted_dims.count(_ANY) > 1 or _ANY in wanted_dims[1:-1]:
        return None
    return wanted_dims


def _places(dims: Dims, wanted_dims: list[_Wanted]) -> Dims | None:
    """The dims of a tensor with a place for each wanted; None where they do not fit."""
    if _ANY not in wanted_dims:
        return of_rank(dims, len(wanted_dims))
    count = len(wanted_dims) - 1
    if not dims.open:
        return dims if count <= len(dims.prefix) else None
    prefix, suffix = dims.prefix, dims.suffix
    if wanted_dims[0] == _ANY:
        suffix = (ANY_DIM,) * (count - len(suffix)) + suffix
    else:
        prefix += (ANY_DIM,) * (count - len(prefix))
    return Dims(prefix, suffix, open=True)


def _named(dim: Dim, wanted: _Wanted, scope: int) -> Dim:
    """A dim with a word for its name, or with a size."""
    if type(wanted) is int and dim.size is UNKNOWN:
        return replace(dim, size=wanted)
    if not isinstance(wanted, str) or not (dim.name is UNKNOWN or dim.name is None):
        return dim
    if isinstance(dim.size, Expression):
        return dim
    own = naming.of_unpacking(wanted, scope)
    return replace(dim, name=Axis(own), size=symbol(own) if dim.size is UNKNOWN else dim.size)
