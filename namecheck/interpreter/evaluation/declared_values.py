"""Values and declarations: makes each from the other, for checks against annotations."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

from namecheck.annotations.bindings import Bindings
from namecheck.annotations.declarations import (
    Declaration,
    Declared,
    Every,
    Items,
    OneOf,
    Undeclared,
    declares_dims,
)
from namecheck.core import dtypes
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dim, Dims
from namecheck.core.dtypes import DType
from namecheck.core.findings import Place
from namecheck.core.names import UNKNOWN, Axis, is_scoped, word
from namecheck.core.sizes import Expression
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities, joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Alternative,
    DictValue,
    Entries,
    Held,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Union,
    Value,
    size_of,
)
from namecheck.interpreter.evaluation import narrowing
from namecheck.interpreter.evaluation.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class Written:
    """An annotation, and the file that it stands in."""

    annotation: ast.expr
    source: Source

    def place(self, message: str) -> Place:
        """The place of it, with a message."""
        return Place(self.source.filename, self.source.span(self.annotation), message)


class DeclaredValues:
    """Makes values from declarations, and converts values for checks against declarations."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def known(self, value: Value | None, store: Store) -> Any:
        """A value in the form that annotations check."""
        if isinstance(value, TensorValue):
            return equalities.equated(joins.held(value, store).tensor, store)
        if isinstance(value, Opaque):
            if narrowing.is_tensor(value, store):
                return self.known(self.interpreter.torch.promote(value, store), store)
            return UNKNOWN
        if value == NONE:
            return None
        if isinstance(value, TupleValue):
            return tuple(self.known(item, store) for item in value.items)
        if isinstance(value, ListValue):
            content = joins.items(value, store)
            if not isinstance(content, Repeated):
                return tuple(self.known(item, store) for item in content)
        if isinstance(value, Union):
            left = [c.value for c in value.alternatives if store.allows(c.facts)]
            if len(left) == 1:
                return self.known(left[0], store)
        return UNKNOWN

    def made(
        self,
        declared: Declared,
        bindings: Bindings,
        scope: int | None,
        written: Written | None,
    ) -> Value:
        """A value of which only the declaration is known."""
        interpreter = self.interpreter
        if isinstance(declared, Declaration):
            dims = bindings.dims_of(declared.pattern, scope)
            known = Tensor(dims, _dtype(declared), declared.device or UNKNOWN)
            return interpreter.torch.tensor(known, _origins(dims, written))
        if isinstance(declared, Items):
            made = [self.made(each, bindings, scope, written) for each in declared.each]
            return TupleValue(tuple(made))
        if isinstance(declared, Every):
            each = self.made(declared.each, bindings, scope, written)
            if declared.kind == "mapping":
                return DictValue(interpreter.new_address(), Entries((), each))
            if declared.kind == "list":
                return ListValue(interpreter.new_address(), Repeated(each))
            return Repeated(each)
        if isinstance(declared, OneOf):
            told = [option for option in declared.options if not isinstance(option, Undeclared)]
            if len(told) == 1 and declared.optional:
                filled = self.made(told[0], bindings, scope, written)
                return joins.union(
                    [Alternative(NONE), Alternative(filled)], interpreter.context.ledger
                )
        return interpreter.fresh("declared")

    def refined(
        self,
        declared: Declared,
        value: Value | None,
        bindings: Bindings,
        scope: int | None,
        written: Written | None,
        store: Store,
    ) -> Value:
        """A value with the declared dims, where its own are unknown."""
        if value is None or not declares_dims(declared):
            return self.interpreter.fresh("declared") if value is None else value
        if isinstance(declared, Declaration):
            return self._refined_tensor(declared, value, bindings, scope, written, store)
        if isinstance(declared, Items) and isinstance(value, TupleValue):
            if len(declared.each) == len(value.items):
                items = tuple(
                    self.refined(each, item, bindings, scope, written, store)
                    for each, item in zip(declared.each, value.items, strict=True)
                )
                return replace(value, items=items)
            return value
        if isinstance(declared, Every) and isinstance(value, Repeated):
            each = self.refined(declared.each, value.each, bindings, scope, written, store)
            return Repeated(each)
        if isinstance(declared, OneOf) and isinstance(value, TensorValue):
            told = [option for option in declared.options if isinstance(option, Declaration)]
            if len(told) == 1:
                return self.refined(told[0], value, bindings, scope, written, store)
        if isinstance(value, Opaque) and not isinstance(declared, OneOf):
            return self.made(declared, bindings, scope, written)
        return value

    def _refined_tensor(
        self,
        declared: Declaration,
        value: Value,
        bindings: Bindings,
        scope: int | None,
        written: Written | None,
        store: Store,
    ) -> Value:
        if isinstance(value, Opaque):
            if size_of(value) is not None or value.kind is not None:
                return value
            value = self.interpreter.torch.promote(value, store)
        if isinstance(value, Union):
            choices = [
                replace(
                    choice,
                    value=self.refined(declared, choice.value, bindings, scope, written, store),
                )
                for choice in value.alternatives
            ]
            return joins.union(choices, self.interpreter.context.ledger)
        if not isinstance(value, TensorValue):
            return value
        held = joins.held(value, store)
        dims = dims_of(held.tensor.dims, bindings.dims_of(declared.pattern, scope))
        dtype = dtypes.meet(held.tensor.dtype, _dtype(declared))
        device = held.tensor.device
        if device is UNKNOWN and declared.device is not None:
            device = declared.device
        told = replace(held.tensor, dims=dims, dtype=dtype, device=device, likely=None)
        if told != held.tensor:
            origins = {**_origins(dims, written), **held.origins}
            if scope is not None:
                return self.interpreter.torch.tensor(told, origins)  # only the callee calls it so
            joins.write(value, store, Held(told, origins))
        return value

    def outside(self, value: Value, scope: int, store: Store) -> Value:
        """A value without the axis names that only a finished function defines."""
        if isinstance(value, TupleValue):
            items = tuple(self.outside(item, scope, store) for item in value.items)
            return replace(value, items=items)
        if not isinstance(value, TensorValue):
            return value
        held = joins.held(value, store)
        within = partial(_outside, scope=scope)
        dims, likely = held.tensor.dims.mapped(within), held.tensor.likely
        tensor = replace(held.tensor, dims=dims, likely=likely and likely.mapped(within))
        return (
            value if tensor == held.tensor else self.interpreter.torch.tensor(tensor, held.origins)
        )


def _outside(dim: Dim, scope: int) -> Dim:
    own = isinstance(dim.name, Axis) and is_scoped(dim.name.name, scope)
    sized = isinstance(dim.size, Expression) and is_scoped(str(dim.size), scope)
    if not own and not sized:
        return dim
    return replace(dim, name=UNKNOWN if own else dim.name, size=UNKNOWN if sized else dim.size)


def _dtype(declared: Declaration) -> DType:
    """The declared dtypes, those that torch has."""
    return dtypes.one_of((declared.dtypes or frozenset()) & dtypes.KINDS.keys())


def _origins(dims: Dims, written: Written | None) -> dict[str, Place]:
    if written is None:
        return {}
    place = written.place("declared here")
    return {told: place for name in dims.names if (told := word(name)) is not None}


def dims_of(dims_known: Dims, declared_dims: Dims) -> Dims:
    """The known dims, and the declared dims where they are unknown."""
    if dims_known.open or declared_dims.open or dims_known.rank != declared_dims.rank:
        return dims_known if not dims_known.open else declared_dims
    return Dims(tuple(map(_refined_dim, dims_known.prefix, declared_dims.prefix)))


def _refined_dim(dim_known: Dim, declared_dim: Dim) -> Dim:
    name = declared_dim.name if dim_known.name in (None, UNKNOWN) else dim_known.name
    if dim_known.name is None and dim_known.size == 1:
        return dim_known
    return replace(
        dim_known,
        name=name,
        size=declared_dim.size if dim_known.size is UNKNOWN else dim_known.size,
    )
