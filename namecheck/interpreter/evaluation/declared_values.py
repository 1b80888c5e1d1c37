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
from namecheck.interpreter.domain import equalities, joins, opaque_tensors
from namecheck.interpreter.domain.cells import Truth
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
from namecheck.interpreter.evaluation.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class LocatedAnnotation:
    """An annotation, and the file that contains it."""

    annotation: ast.expr
    source: Source

    def place(self, message: str) -> Place:
        """The place of it, with a message."""
        return Place(self.source.filename, self.source.span(self.annotation), message)


class DeclaredValues:
    """Makes values from declarations, and converts values for checks against declarations."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def checkable(self, value: Value | None, store: Store) -> Any:
        """A value in the form that is checked against annotations."""
        if isinstance(value, TensorValue):
            return equalities.equated(joins.held(value, store).tensor, store)
        if isinstance(value, Opaque):
            if opaque_tensors.is_tensor(value, store):
                return self.checkable(self.interpreter.torch.promote(value, store), store)
            return UNKNOWN
        if value == NONE:
            return None
        if isinstance(value, TupleValue):
            return tuple(self.checkable(item, store) for item in value.items)
        if isinstance(value, ListValue):
            content = joins.items(value, store)
            if not isinstance(content, Repeated):
                return tuple(self.checkable(item, store) for item in content)
        if isinstance(value, Union):
            values = [c.value for c in value.alternatives if store.allows(c.facts)]
            if len(values) == 1:
                return self.checkable(values[0], store)
        return UNKNOWN

    def create(
        self,
        declared: Declared,
        bindings: Bindings,
        scope: int | None,
        located: LocatedAnnotation | None,
    ) -> Value:
        """Create a value of which only the declaration is known."""
        interpreter = self.interpreter
        if isinstance(declared, Declaration):
            dims = bindings.dims_of(declared.pattern, scope)
            tensor = Tensor(dims, _dtype(declared), declared.device or UNKNOWN)
            return interpreter.torch.tensor(tensor, _origins(dims, located))
        if isinstance(declared, Items):
            items = [self.create(each, bindings, scope, located) for each in declared.each]
            return TupleValue(tuple(items))
        if isinstance(declared, Every):
            each = self.create(declared.each, bindings, scope, located)
            if declared.kind == "mapping":
                return DictValue(interpreter.new_address(), Entries((), each))
            if declared.kind == "list":
                return ListValue(interpreter.new_address(), Repeated(each))
            return Repeated(each)
        if isinstance(declared, OneOf):
            options = [option for option in declared.options if not isinstance(option, Undeclared)]
            if len(options) == 1 and declared.optional:
                filled = self.create(options[0], bindings, scope, located)
                # What is made where it is None goes together with None in later tests.
                is_filled = Truth(interpreter.fresh("optional").key)
                choices = [
                    Alternative(NONE, ((is_filled, False),)),
                    Alternative(filled, ((is_filled, True),)),
                ]
                return joins.union(choices, interpreter.context.ledger)
        return interpreter.fresh("declared")

    def refine(
        self,
        declared: Declared,
        value: Value | None,
        bindings: Bindings,
        scope: int | None,
        located: LocatedAnnotation | None,
        store: Store,
    ) -> Value:
        """Refine a value: it has the declared dims where its own are unknown."""
        if value is None or not declares_dims(declared):
            return self.interpreter.fresh("declared") if value is None else value
        if isinstance(declared, Declaration):
            return self._refine_tensor(declared, value, bindings, scope, located, store)
        if isinstance(declared, Items) and isinstance(value, TupleValue):
            if len(declared.each) == len(value.items):
                items = tuple(
                    self.refine(each, item, bindings, scope, located, store)
                    for each, item in zip(declared.each, value.items, strict=True)
                )
                return replace(value, items=items)
            return value
        if isinstance(declared, Every) and isinstance(value, Repeated):
            each = self.refine(declared.each, value.each, bindings, scope, located, store)
            return Repeated(each)
        if isinstance(declared, OneOf) and isinstance(value, TensorValue):
            options = [option for option in declared.options if isinstance(option, Declaration)]
            if len(options) == 1:
                return self.refine(options[0], value, bindings, scope, located, store)
        if isinstance(value, Opaque) and not isinstance(declared, OneOf):
            return self.create(declared, bindings, scope, located)
        return value

    def _refine_tensor(
        self,
        declared: Declaration,
        value: Value,
        bindings: Bindings,
        scope: int | None,
        located: LocatedAnnotation | None,
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
                    value=self.refine(declared, choice.value, bindings, scope, located, store),
                )
                for choice in value.alternatives
            ]
            return joins.union(choices, self.interpreter.context.ledger)
        if not isinstance(value, TensorValue):
            return value
        content = joins.held(value, store)
        dims = dims_of(content.tensor.dims, bindings.dims_of(declared.pattern, scope))
        if bindings.for_result:
            dims = bindings.outside(dims)
        dtype = dtypes.meet(content.tensor.dtype, _dtype(declared))
        device = content.tensor.device
        if device is UNKNOWN and declared.device is not None:
            device = declared.device
        refined = replace(content.tensor, dims=dims, dtype=dtype, device=device, likely=None)
        if refined != content.tensor:
            origins = {**_origins(dims, located), **content.origins}
            if scope is not None:
                return self.interpreter.torch.tensor(
                    refined, origins
                )  # only the callee calls it so
            joins.write(value, store, Held(refined, origins))
        return value

    def outside(self, value: Value, scope: int, store: Store) -> Value:
        """A value without the axis names that only a finished function defines."""
        if isinstance(value, TupleValue):
            items = tuple(self.outside(item, scope, store) for item in value.items)
            return replace(value, items=items)
        if not isinstance(value, TensorValue):
            return value
        content = joins.held(value, store)
        within = partial(_outside, scope=scope)
        dims, likely = content.tensor.dims.mapped(within), content.tensor.likely
        tensor = replace(content.tensor, dims=dims, likely=likely and likely.mapped(within))
        return (
            value
            if tensor == content.tensor
            else self.interpreter.torch.tensor(tensor, content.origins)
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


def _origins(dims: Dims, located: LocatedAnnotation | None) -> dict[str, Place]:
    if located is None:
        return {}
    place = located.place("declared here")
    return {label: place for name in dims.names if (label := word(name)) is not None}


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
