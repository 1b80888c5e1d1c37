"""The type of a call of a module: the declared result of ``forward``; torch's stubs say Any."""

from __future__ import annotations

from typing import Final

from mypy.expandtype import expand_type_by_instance
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import Decorator, FuncDef, TypeInfo
from mypy.plugin import MethodContext
from mypy.typeops import bind_self
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    Type,
    UninhabitedType,
    get_proper_type,
)

from namecheck_mypy import surfaces

MODULE: Final = "torch.nn.modules.module.Module"


def result(ctx: MethodContext) -> Type:
    """The declared result of ``forward``, if the receiver has the ``__call__`` of Module.

    The type stays Any if ``forward`` declares nothing, or has overloads or type variables.
    """
    receiver = get_proper_type(ctx.type)
    if (
        isinstance(receiver, Instance)
        and receiver.type.has_base(MODULE)
        and isinstance(get_proper_type(ctx.default_return_type), AnyType)
        and _owner(receiver.type, "__call__") == MODULE
    ):
        surfaces.add_dependency(ctx, receiver.type, "forward")
        if not surfaces.is_cast(ctx):
            return _declared(receiver) or ctx.default_return_type
    return ctx.default_return_type


def _owner(info: TypeInfo, name: str) -> str:
    """The class that defines a member."""
    return next((base.fullname for base in info.mro if name in base.names), "")


def _declared(instance: Instance) -> Type | None:
    definer = instance.type.get_containing_type_info("forward")
    if definer is None or definer.fullname == MODULE:
        return None
    node = definer.names["forward"].node
    signature = node.var.type if isinstance(node, Decorator) else getattr(node, "type", None)
    if not isinstance(node, (Decorator, FuncDef)) or not isinstance(signature, CallableType):
        return None
    if signature.implicit or signature.variables:
        return None
    bound = bind_self(signature, instance)
    owner = map_instance_to_supertype(instance, definer)
    declared = get_proper_type(expand_type_by_instance(bound, owner).ret_type)
    return None if isinstance(declared, UninhabitedType) else declared
