"""``reveal_type(x.names)``: the names of a tensor, as a tuple of literals.

The type of ``x.names`` stays what it is wherever it is not asked to be revealed: names are no part
of types. The engine is asked what it knows of ``x`` there.
"""

from __future__ import annotations

from mypy.nodes import MemberExpr
from mypy.plugin import AttributeContext
from mypy.types import LiteralType, NoneType, TupleType, Type

from namecheck_mypy.diagnostics import names_by_place
from namecheck_mypy.findings import Findings


class Reveals:
    """What the engine knows of the expressions of files that ask for it."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def names(self, ctx: AttributeContext) -> Type:
        """The type of ``x.names``."""
        context = ctx.context
        if ctx.is_lvalue or not isinstance(context, MemberExpr):
            return ctx.default_attr_type
        known = names_by_place(self._findings.of(ctx.api.path))
        receiver = context.expr
        end = receiver.end_line or receiver.line, (receiver.end_column or 0) + 1
        names = known.get((receiver.line, receiver.column + 1, *end))
        if names is None:
            return ctx.default_attr_type
        string = ctx.api.named_generic_type("builtins.str", [])
        items: list[Type] = [
            NoneType() if name is None else LiteralType(name, string) for name in names
        ]
        return TupleType(items, ctx.api.named_generic_type("builtins.tuple", [string]))
