"""Signatures of torch's stubs, at a call, with names wherever the table takes them.

Methods get theirs here and not in the class: a program's own subclass of Tensor that declares
``dim: int`` overrides what the stubs say, and is right.
"""

from __future__ import annotations

from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_OPT,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    ArgKind,
    CallExpr,
    Context,
    Expression,
    IntExpr,
    TypeInfo,
    UnaryExpr,
)
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import (
    CallableType,
    FunctionLike,
    Instance,
    Overloaded,
    Type,
    TypeType,
    get_proper_type,
)

from namecheck.operators.signatures import REQUIRED, Parameter, Signature
from namecheck_mypy.vocabulary import OWNERS, name_types
from namecheck_mypy.vocabulary.rows import Spoken


class NamedCalls:
    """The signatures of one callable of the table: hooks of mypy, for a method or a function."""

    def __init__(self, name: str, spoken: Spoken) -> None:
        self._name = name
        self._spoken = spoken

    def method(self, ctx: MethodSigContext) -> FunctionLike:
        """The signature of a method, wider where torch defines it for tensors."""
        info = _class_of(ctx.type)
        owner = info and info.get_containing_type_info(self._name)
        if owner is None or owner.fullname not in OWNERS:
            return ctx.default_signature
        return self._signature(ctx, 0 if isinstance(get_proper_type(ctx.type), Instance) else 1)

    def function(self, ctx: FunctionSigContext) -> FunctionLike:
        """The signature of a function; its first parameter is the tensor."""
        return self._signature(ctx, 1)

    def _signature(self, ctx: MethodSigContext | FunctionSigContext, tensors: int) -> FunctionLike:
        stub, call = ctx.default_signature, ctx.context
        if self._is_said_in_ints(stub, ctx.args, call):
            return stub
        named = ctx.api.named_generic_type
        wide = self._with_keywords(self._with_dims(stub, named), call, named)
        lines = () if _is_overload(stub) else self._spoken.naming
        more = [
            _overload(wide, line[1:], tensors, named)
            for line in lines
            if not {p.name for p in line[1:]} <= set(stub.arg_names)
        ]
        return Overloaded([wide, *more]) if more else wide

    def _is_said_in_ints(
        self, stub: CallableType, args: list[list[Expression]], call: Context
    ) -> bool:
        """Whether a call speaks of no name for certain, as almost all calls in torch itself."""
        known = {id(given) for given_here in args for given in given_here}
        if isinstance(call, CallExpr) and any(id(given) not in known for given in call.args):
            return False
        return all(
            _is_index(given)
            for name, given_here in zip(stub.arg_names, args, strict=True)
            if name in self._spoken.dims or name in self._spoken.keywords
            for given in given_here
        )

    def _with_dims(self, stub: CallableType, named: name_types.Named) -> CallableType:
        several = [self._spoken.dims.get(name or "") for name in stub.arg_names]
        return stub.copy_modified(
            arg_types=[
                declared if takes is None else name_types.widened(declared, takes, named)
                for declared, takes in zip(stub.arg_types, several, strict=True)
            ]
        )

    def _with_keywords(
        self, stub: CallableType, call: Context, named: name_types.Named
    ) -> CallableType:
        for name, parameter in self._spoken.keywords.items():
            if isinstance(call, CallExpr) and name in call.arg_names:
                stub = _with_keyword(stub, parameter, named)
        return stub


def _with_keyword(
    stub: CallableType, parameter: Parameter, named: name_types.Named
) -> CallableType:
    wanted = name_types.of_parameter(parameter, named)
    if parameter.name in stub.arg_names:
        here = stub.arg_names.index(parameter.name)
        arg_types = [*stub.arg_types[:here], wanted, *stub.arg_types[here + 1 :]]
        return stub.copy_modified(arg_types=arg_types)
    return stub.copy_modified(
        arg_types=[*stub.arg_types, wanted],
        arg_kinds=[*stub.arg_kinds, ARG_NAMED_OPT],
        arg_names=[*stub.arg_names, parameter.name],
    )


def _overload(
    stub: CallableType, line: Signature, tensors: int, named: name_types.Named
) -> CallableType:
    """One more overload, of a line of the table after its tensor; what it shares is the stub's."""
    declared = dict(zip(stub.arg_names, stub.arg_types, strict=True))
    wanted: list[Type] = [
        declared.get(parameter.name) or name_types.of_parameter(parameter, named)
        for parameter in line
    ]
    return stub.copy_modified(
        arg_types=[*stub.arg_types[:tensors], *wanted],
        arg_kinds=[*stub.arg_kinds[:tensors], *map(kind_of, line)],
        arg_names=[*stub.arg_names[:tensors], *(parameter.name for parameter in line)],
        definition=None,
    )


def kind_of(parameter: Parameter) -> ArgKind:
    """How mypy has it that a parameter is passed."""
    if parameter.variadic:
        return ARG_STAR
    if parameter.mapping:
        return ARG_STAR2
    if parameter.default is REQUIRED:
        return ARG_NAMED if parameter.keyword_only else ARG_POS
    return ARG_NAMED_OPT if parameter.keyword_only else ARG_OPT


def _class_of(receiver: Type) -> TypeInfo | None:
    """The class whose method is called, on an instance or on the class itself."""
    receiver = get_proper_type(receiver)
    if isinstance(receiver, FunctionLike):
        return receiver.type_object() if receiver.is_type_obj() else None
    if isinstance(receiver, TypeType):
        receiver = receiver.item
    return receiver.type if isinstance(receiver, Instance) else None


def _is_overload(stub: CallableType) -> bool:
    """Whether a signature may be one of several: to these none can be added."""
    return bool(getattr(stub.definition, "is_overload", True))


def _is_index(given: Expression) -> bool:
    if isinstance(given, UnaryExpr) and given.op == "-":
        given = given.expr
    return isinstance(given, IntExpr)
