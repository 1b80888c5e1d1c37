"""Adds the methods and the attribute that torch dropped to Tensor, from their rows."""

from __future__ import annotations

from mypy.nodes import (
    ARG_POS,
    MDEF,
    Argument,
    Block,
    Decorator,
    FuncDef,
    OverloadedFuncDef,
    PassStmt,
    SymbolTableNode,
    Var,
)
from mypy.plugin import ClassDefContext
from mypy.plugins.common import add_method_to_class
from mypy.types import CallableType, NoneType, Overloaded, Type, UnionType
from mypy.typevars import fill_typevars

from namecheck.effects.words import Parameter
from namecheck.operators import Operator
from namecheck_mypy.vocabulary import name_types, rows
from namecheck_mypy.vocabulary.signatures import kind_of


def restore(ctx: ClassDefContext) -> None:
    """Add the naming API to Tensor, except what torch's stubs declare with types."""
    if ctx.cls.fullname != "torch._tensor.Tensor":
        return
    for row in rows.naming_api():
        if _is_declared(ctx, row.key):
            continue
        if "a" in row.forms:
            _add_property(ctx, row)
        else:
            _add_method(ctx, row)


def _is_declared(ctx: ClassDefContext, name: str) -> bool:
    """Whether a member exists and has a type; methods without annotations have none."""
    member = ctx.cls.info.get(name)
    return member is not None and getattr(member.node, "type", None) is not None


def _add_method(ctx: ClassDefContext, row: Operator) -> None:
    """Add a method with the parameters of its row, which has one overload for methods."""
    [(_, line)] = row.alternatives("m" if "m" in row.forms else "i")
    arguments = [
        Argument(Var(parameter.name), _type_of(parameter, ctx), None, kind_of(parameter))
        for parameter in line[1:]
    ]
    add_method_to_class(ctx.api, ctx.cls, row.key, arguments, _result(ctx, row))


def _add_property(ctx: ClassDefContext, row: Operator) -> None:
    """Add a property that returns one name for each dim, and accepts new ones, or None."""
    assigned = UnionType([name_types.new_names(ctx.api.named_type), NoneType()])
    getter = _accessor(ctx, row.key, [], name_types.names_of_a_tensor(ctx.api.named_type))
    setter = _accessor(ctx, row.key, [("value", assigned)], NoneType())
    assert isinstance(getter.var.type, CallableType)
    assert isinstance(setter.var.type, CallableType)
    getter.func.is_property = getter.var.is_property = True
    getter.var.is_settable_property = True
    getter.var.setter_type = setter.var.type
    both = OverloadedFuncDef([getter, setter])
    both.is_property = True
    both.setter_index = 1
    both.info = ctx.cls.info
    both.type = Overloaded([getter.var.type])
    both._fullname = f"{ctx.cls.fullname}.{row.key}"
    ctx.cls.info.names[row.key] = SymbolTableNode(MDEF, both, plugin_generated=True)


def _accessor(
    ctx: ClassDefContext, name: str, own_parameters: list[tuple[str, Type]], returned: Type
) -> Decorator:
    info = ctx.cls.info
    parameters = [("self", fill_typevars(info)), *own_parameters]
    function = FuncDef(
        name,
        [Argument(Var(key), declared, None, ARG_POS) for key, declared in parameters],
        Block([PassStmt()]),
    )
    function.type = CallableType(
        [declared for _, declared in parameters],
        [ARG_POS] * len(parameters),
        [key for key, _ in parameters],
        returned,
        ctx.api.named_type("builtins.function"),
        name=name,
        definition=function,
    )
    var = Var(name, function.type)
    for node in (function, var):
        node.info = info
        node._fullname = f"{info.fullname}.{name}"
    var.is_initialized_in_class = var.is_ready = True
    function.is_decorated = function.is_overload = True
    decorator = Decorator(function, [], var)
    decorator.is_overload = True
    return decorator


def _type_of(parameter: Parameter, ctx: ClassDefContext) -> Type:
    if "tensor" in parameter.kinds:
        return fill_typevars(ctx.cls.info)
    return name_types.of_parameter(parameter, ctx.api.named_type)


def _result(ctx: ClassDefContext, row: Operator) -> Type:
    """A tensor if the row has a dtype or is in place, else a bool."""
    if row.dtype or "i" in row.forms:
        return fill_typevars(ctx.cls.info)
    return ctx.api.named_type("builtins.bool")
