"""The bindings of axes in the store.

The axes of a function are bound in the environment of a call, those that a constructor or a field
binds in the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final

from namecheck.annotations.bindings import Bindings, Bound, Run
from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dim
from namecheck.core.names import Axis
from namecheck.core.sizes import Expression, substituted, symbol, symbols
from namecheck.interpreter.domain import equalities, joins
from namecheck.interpreter.domain.cells import AxisCell, Representative
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    TRUE,
    Const,
    Environment,
    Instance,
    Picked,
    TensorValue,
)

_REPRESENTATIVE: Final = Representative()


def read(
    axis_words: Iterable[str],
    environment: Environment,
    store: Store,
    function: str,
    *,
    of_field: bool = False,
) -> Bindings:
    """The bindings of these axes in an environment, or of its instance.

    What the fields and attributes of an instance bind counts for a field alone: a method binds its
    axes anew in each call, and so does an inner function: those of the function around it are its
    own.
    """
    bound_axes: dict[str, Bound] = {}
    runs: dict[str, Run] = {}
    for axis in sorted(axis_words):
        binding = _binding(axis, environment, store, of_field=of_field)
        if isinstance(binding, Bound):
            bound_axes[axis] = binding
        elif isinstance(binding, Run):
            runs[axis] = binding
    return equalities.bindings(Bindings(function, bound_axes, runs), store)


def _binding(axis: str, environment: Environment, store: Store, *, of_field: bool) -> Any:
    owners: list[Hashable] = [(environment.number, AxisCell(axis))]
    if isinstance(environment.receiver, Instance):
        address = environment.receiver.address
        owners.append((address, AxisCell(axis)))
        if of_field:
            owners.append((address, AxisCell(axis, of_field=True)))
    for key in owners:
        content = store.get(key)
        if content is not None:
            return content.value if isinstance(content, Const) else None
    return None


def write(
    bindings: Bindings, owner: Environment | Instance, store: Store, *, of_field: bool = False
) -> None:
    """Write bindings to an environment or an instance."""
    number = owner.number if isinstance(owner, Environment) else owner.address
    cells: Mapping[str, Bound | Run] = {**bindings.runs, **bindings.axes}
    for axis, bound in cells.items():
        store.set((number, AxisCell(axis, of_field)), Const(bound))


def of_any(tensor_value: TensorValue, instance: Instance, store: Store) -> TensorValue:
    """A tensor of an instance that stands for several: each has axes of its own.

    One layer of a list may take what another one gives, so the axes of two reads may be equal.
    """
    content = joins.held(tensor_value, store)
    number = store.ledger.new()

    def reword(text: str) -> str:
        return naming.rescoped(text, lambda n: number if n == instance.address else n)

    dims = content.tensor.dims.mapped(lambda dim: _reworded(dim, reword))
    if dims == content.tensor.dims:
        return tensor_value
    tensor = replace(content.tensor, dims=dims)
    address = Picked((tensor_value,), number, number)
    return TensorValue(address, replace(content, tensor=tensor), tensor_value.tags)


def _reworded(dim: Dim, reword: Callable[[str], str]) -> Dim:
    name, size = dim.name, dim.size
    if isinstance(name, Axis):
        name = replace(name, name=reword(name.name))
    if isinstance(size, Expression):
        size = substituted(size, {word: symbol(reword(word)) for word in symbols(size)})
    return replace(dim, name=name, size=size)


def mark_representative(instance: Instance, store: Store) -> None:
    """Mark an instance that entry points make, for any instance of its class."""
    store.set((instance.address, _REPRESENTATIVE), TRUE)


def is_representative(instance: Instance, store: Store) -> bool:
    """Whether an instance stands for any instance of its class."""
    return store.get((instance.address, _REPRESENTATIVE)) is not None
