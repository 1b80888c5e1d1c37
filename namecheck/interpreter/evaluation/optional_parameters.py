"""The axes of parameters that may be None.

They are bound to no dims where a function is entered: on the path where its argument is None they
are free. On a path that knows the argument to be a tensor they are as fixed as any others.
"""

from __future__ import annotations

from collections.abc import Mapping

from namecheck.annotations.bindings import Bindings
from namecheck.annotations.declarations import meet
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.cells import ArgumentCell
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Environment, Union, Value
from namecheck.interpreter.evaluation.declared import Signature
from namecheck.interpreter.evaluation.declared_values import DeclaredValues


def keep(
    signature: Signature,
    argument_values: Mapping[str, Value | None],
    environment: Environment,
    store: Store,
) -> None:
    """Keep the arguments for the optional parameters of an entry point: variables may change."""
    for name in signature.optional:
        argument = argument_values[name]
        if isinstance(argument, Union):
            store.set((environment.number, ArgumentCell(name)), argument)


def bound(
    signature: Signature,
    bindings: Bindings,
    environment: Environment,
    store: Store,
    declared_values: DeclaredValues,
) -> Bindings:
    """The bindings with the axes of the optional parameters that are no None on this path."""
    for name in signature.optional:
        argument = store.get((environment.number, ArgumentCell(name)))
        tensor = None if argument is None else declared_values.checkable(argument, store)
        if isinstance(tensor, Tensor):
            bindings = meet(signature.parameters[name].declared, tensor, bindings, name)
    return bindings
