"""Attributes of an object that become one tensor: ``self.U = self.V``.

Whoever replaces a tensor by another one of the same object, with other words for its sizes, says
that the sizes may be equal: a class of square matrices, derived from one of all matrices.
"""

from __future__ import annotations

from namecheck.core.names import UNKNOWN
from namecheck.interpreter.domain import equalities, joins
from namecheck.interpreter.domain.cells import AttributeNames
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Instance, TensorValue


def learn(instance: Instance, name: str, tensor_value: TensorValue, store: Store) -> None:
    """Note the sizes that may be equal because one attribute becomes the tensor of another."""
    replaced = store.get((instance.address, name))
    if not isinstance(replaced, TensorValue) or replaced == tensor_value:
        return
    others = [other for other in store.get(AttributeNames(instance.address), ()) if other != name]
    if all(store.get((instance.address, other)) != tensor_value for other in others):
        return
    dims, new_dims = (joins.held(each, store).tensor.dims for each in (replaced, tensor_value))
    if dims.open or new_dims.open or len(dims.prefix) != len(new_dims.prefix):
        return
    for dim, new_dim in zip(dims.prefix, new_dims.prefix, strict=True):
        if dim.size is not UNKNOWN and new_dim.size is not UNKNOWN and dim.size != new_dim.size:
            equalities.allow(dim.size, new_dim.size, store)
