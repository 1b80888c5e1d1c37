"""What operators write to: in-place calls, calls with ``out=``, and calls that were refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from namecheck.core.dataclasses import replace
from namecheck.core.findings import Place
from namecheck.core.names import UNKNOWN
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.addresses import LayerTensor
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Held, Opaque, TensorValue, TupleValue, Value
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.torch import conversion, origins
from namecheck.interpreter.models.torch.operands import OperatorCall


def write(
    interpreter: Interpreter,
    target: Value,
    content: Any,
    before: Mapping[str, Place],
    node: Node,
    store: Store,
) -> None:
    """Write a result of `infer` to a tensor, or to several."""
    if isinstance(target, Opaque) and isinstance(content, Tensor):
        target = conversion.promote(target, store)
    if isinstance(target, TensorValue) and isinstance(content, Tensor):
        places_of_names = origins.trace(interpreter, content, before, node)
        if joins.held(target, store).tensor.dims.sizes != content.dims.sizes:
            _note_resized(target, store)
        joins.write(target, store, Held(content, places_of_names))
    elif isinstance(target, TupleValue) and isinstance(content, (tuple, list)):
        for each, part in zip(target.items, content, strict=False):
            write(interpreter, each, part, before, node, store)


def forget(target: Value | None, store: Store) -> None:
    """Make tensors unknown that a call may have written to, also those that a value may be."""
    if isinstance(target, Opaque) and target.link is not None:
        target = conversion.promote(target, store)
    if isinstance(target, TensorValue):
        joins.write(target, store, Held(Tensor()))
        _note_resized(target, store)
    elif isinstance(target, TupleValue):
        for item in target.items:
            forget(item, store)


def _note_resized(tensor_value: TensorValue, store: Store) -> None:
    """A tensor got other sizes: if it is the weight of a layer, that layer gets them too."""
    address = tensor_value.address
    if isinstance(address, LayerTensor):
        store.write((address.layer, address.name), tensor_value, tensor_value)


def replace_data(tensor_value: TensorValue, value: Value, store: Store) -> None:
    """Write the dims of y to x for ``x.data = y``; the dtype, device and order become unknown.

    The labels of a named tensor stay, unless y has some.
    """
    content = joins.held(tensor_value, store)
    data = joins.held(value, store) if isinstance(value, TensorValue) else Held(Tensor())
    has_labels = [
        any(isinstance(name, str) for name in each.tensor.dims.names) for each in (content, data)
    ]
    source = content if has_labels == [True, False] else data
    tensor = Tensor(source.tensor.dims, likely=source.tensor.likely)
    origins_of_both = {**content.origins, **data.origins}
    joins.write(tensor_value, store, replace(content, tensor=tensor, origins=origins_of_both))
    _note_resized(tensor_value, store)


def forget_names(operator_call: OperatorCall) -> None:
    """Make the names unknown of a tensor in which a call was refused for names alone.

    A run that continues after that names it by what comes next (docs/runtime.md: modes).
    """
    target, row = next(iter(operator_call.args), None), operator_call.row
    if not isinstance(target, TensorValue):
        return
    content = joins.held(target, operator_call.store)
    tensor = content.tensor.of_any_dims(content.tensor.likely)
    if row is None or row.inplace != "becomes":
        unnamed = content.tensor.dims.mapped(lambda dim: replace(dim, name=UNKNOWN))
        tensor = replace(content.tensor, dims=unnamed)
    joins.write(target, operator_call.store, replace(content, tensor=tensor))
