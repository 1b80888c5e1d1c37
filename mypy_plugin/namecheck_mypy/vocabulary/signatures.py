"""The signatures of torch's stubs at a call, with names wherever the table accepts them.

Methods are widened at the call and not in the class, so that a subclass of Tensor that declares
``dim: int`` is still a correct override.
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
    ProperType,
    Type,
    TypeType,
    get_proper_type,
)

from namecheck.core.parameters import REQUIRED
from namecheck.effects.words import Parameter, Signature
from namecheck_mypy.vocabulary import OWNERS, name_types
from namecheck_mypy.vocabulary.rows import NamedParameters


class NamedCalls:
    """The signatures of one callable of the table: hooks of mypy, for a method or a function."""

    def __init__(self, name: str, named_parameters: NamedParameters) -> None:
        self._name = name
        self._named = named_parameters

    def method(self, signature_ctx: MethodSigContext) -> FunctionLike:
        """The signature of a method, widened if torch defines it for tensors."""
        receiver = get_proper_type(signature_ctx.type)
        info = _class_of(receiver)
        owner = info and info.get_containing_type_info(self._name)
        if owner is None or owner.fullname not in OWNERS:
            return signature_ctx.default_signature
        return self._signature(signature_ctx, 0 if isinstance(receiver, Instance) else 1)

    def function(self, signature_ctx: FunctionSigContext) -> FunctionLike:
        """The signature of a function; its first parameter is the tensor."""
        return self._signature(signature_ctx, 1)

    def _signature(
        self, signature_ctx: MethodSigContext | FunctionSigContext, tensor_count: int
    ) -> FunctionLike:
        stub, call_node = signature_ctx.default_signature, signature_ctx.context
        if self._has_no_names(stub, signature_ctx.args, call_node):
            return stub
        named = signature_ctx.api.named_generic_type
        wide = self._with_keywords(self._with_dims(stub, named), call_node, named)
        lines = () if _is_overload(stub) else self._named.naming
        overloads = [
            _overload(wide, line[1:], tensor_count, named)
            for line in lines
            if not {p.name for p in line[1:]} <= set(stub.arg_names)
        ]
        return Overloaded([wide, *overloads]) if overloads else wide

    def _has_no_names(
        self, stub: CallableType, grouped_args: list[list[Expression]], call_node: Context
    ) -> bool:
        """Whether a call certainly has no name as an argument, like most calls in torch itself."""
        matched = {id(arg) for group in grouped_args for arg in group}
        if isinstance(call_node, CallExpr) and any(id(a) not in matched for a in call_node.args):
            return False
        return all(
            _is_index(arg)
            for name, group in zip(stub.arg_names, grouped_args, strict=True)
            if name in self._named.several_by_name or name in self._named.keywords
            for arg in group
        )

    def _with_dims(self, stub: CallableType, named: name_types.Named) -> CallableType:
        several = [self._named.several_by_name.get(name or "") for name in stub.arg_names]
        return stub.copy_modified(
            arg_types=[
                declared if takes is None else name_types.widened(declared, takes, named)
                for declared, takes in zip(stub.arg_types, several, strict=True)
            ]
        )

    def _with_keywords(
        self, stub: CallableType, call_node: Context, named: name_types.Named
    ) -> CallableType:
        for name, parameter in self._named.keywords.items():
            if isinstance(call_node, CallExpr) and name in call_node.arg_names:
                stub = _with_keyword(stub, parameter, named)
        return stub


def _with_keyword(
    stub: CallableType, parameter: Parameter, named: name_types.Named
) -> CallableType:
    keyword_type = name_types.of_parameter(parameter, named)
    if parameter.name in stub.arg_names:
        index = stub.arg_names.index(parameter.name)
        arg_types = [*stub.arg_types[:index], keyword_type, *stub.arg_types[index + 1 :]]
        return stub.copy_modified(arg_types=arg_types)
    return stub.copy_modified(
        arg_types=[*stub.arg_types, keyword_type],
        arg_kinds=[*stub.arg_kinds, ARG_NAMED_OPT],
        arg_names=[*stub.arg_names, parameter.name],
    )


def _overload(
    stub: CallableType, line: Signature, tensor_count: int, named: name_types.Named
) -> CallableType:
    """Another overload, from a line of the table without its tensor, and the rest of the stub."""
    declared = dict(zip(stub.arg_names, stub.arg_types, strict=True))
    line_types: list[Type] = [
        declared.get(parameter.name) or name_types.of_parameter(parameter, named)
        for parameter in line
    ]
    return stub.copy_modified(
        arg_types=[*stub.arg_types[:tensor_count], *line_types],
        arg_kinds=[*stub.arg_kinds[:tensor_count], *map(kind_of, line)],
        arg_names=[*stub.arg_names[:tensor_count], *(parameter.name for parameter in line)],
        definition=None,
    )


def kind_of(parameter: Parameter) -> ArgKind:
    """The kind of argument, in mypy's terms, of a parameter."""
    if parameter.variadic:
        return ARG_STAR
    if parameter.mapping:
        return ARG_STAR2
    if parameter.default is REQUIRED:
        return ARG_NAMED if parameter.keyword_only else ARG_POS
    return ARG_NAMED_OPT if parameter.keyword_only else ARG_OPT


def _class_of(receiver_type: ProperType) -> TypeInfo | None:
    """The class whose method is called, on an instance or on the class itself."""
    if isinstance(receiver_type, FunctionLike):
        return receiver_type.type_object() if receiver_type.is_type_obj() else None
    if isinstance(receiver_type, TypeType):
        receiver_type = receiver_type.item
    return receiver_type.type if isinstance(receiver_type, Instance) else None


def _is_overload(stub: CallableType) -> bool:
    """Whether a signature may be one of several overloads, to which none can be added."""
    return bool(getattr(stub.definition, "is_overload", True))


def _is_index(expression: Expression) -> bool:
    if isinstance(expression, UnaryExpr) and expression.op == "-":
        expression = expression.expr
    return isinstance(expression, IntExpr)
