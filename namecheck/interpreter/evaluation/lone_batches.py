"""A batch of one with which a program tries a function: to the function it has any size."""

from __future__ import annotations

from collections.abc import Callable

from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Held, TensorValue, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter


def called(interpreter: Interpreter, call: Call, follow: Callable[[Call], Value]) -> Value:
    """The result of a call whose arguments have any batch where it is 1, and no dim has a name.

    ``model(torch.randn(1, 3, 224, 224))`` says how many sizes there are, and not that the batch is
    one. To the caller it is, unless the function changes the argument. Source: docs/evidence.md.
    """
    args = [_opened(interpreter, value, call.store) for value in call.args]
    kwargs = {word: _opened(interpreter, value, call.store) for word, value in call.kwargs.items()}
    if args == call.args and kwargs == call.kwargs:
        return follow(call)
    arguments = replace(call.arguments, args=args, kwargs=kwargs)
    result = follow(Call(arguments, call.node, call.store, call.frame))
    own = *call.args, *call.kwargs.values()
    for tensor_value, copy in zip(own, (*args, *kwargs.values()), strict=True):
        if copy is not tensor_value:
            _take_changes(tensor_value, copy, call.store)
    return result


def _take_changes(tensor_value: Value, copy: Value, store: Store) -> None:
    """Forget an argument whose copy has other dims after a call than in its beginning."""
    if not isinstance(tensor_value, TensorValue) or not isinstance(copy, TensorValue):
        return
    first, last = copy.initial.tensor.dims, joins.held(copy, store).tensor.dims
    has_labels = any(isinstance(name, str) for name in last.names)
    if first.rank != last.rank or has_labels:
        joins.write(tensor_value, store, Held(Tensor()))


def _opened(interpreter: Interpreter, value: Value, store: Store) -> Value:
    if not isinstance(value, TensorValue):
        return value
    content = joins.held(value, store)
    dims = content.tensor.dims
    if not _is_lone(dims):
        return value
    tensor = replace(content.tensor, dims=dims.replace(0, replace(dims[0], size=UNKNOWN)))
    return replace(
        value, address=interpreter.new_address(), initial=replace(content, tensor=tensor)
    )


def _is_lone(dims: Dims) -> bool:
    """Whether dims without a name are a batch of one."""
    if dims.open or len(dims.prefix) < 2 or dims.prefix[0].size != 1:
        return False
    return all(dim.name is None for dim in dims.prefix)
