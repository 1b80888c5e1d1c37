"""``reveal_type(x.names)``: the names of a tensor, as a tuple of literals.

Names are no part of types: anywhere else the type of ``x.names`` is not changed.
"""

from __future__ import annotations

from mypy.nodes import MemberExpr
from mypy.plugin import AttributeContext
from mypy.types import LiteralType, NoneType, TupleType, Type

from namecheck_mypy.diagnostics import names_by_span
from namecheck_mypy.findings import BuildFindings


class Reveals:
    """The inferred names of the expressions whose names are revealed."""

    def __init__(self, build_findings: BuildFindings) -> None:
        self._findings = build_findings

    def names(self, attribute_ctx: AttributeContext) -> Type:
        """The type of ``x.names``."""
        context = attribute_ctx.context
        if attribute_ctx.is_lvalue or not isinstance(context, MemberExpr):
            return attribute_ctx.default_attr_type
        revealed = names_by_span(self._findings.of(attribute_ctx.api.path))
        receiver = context.expr
        end = receiver.end_line or receiver.line, (receiver.end_column or 0) + 1
        names = revealed.get((receiver.line, receiver.column + 1, *end))
        if names is None:
            return attribute_ctx.default_attr_type
        string = attribute_ctx.api.named_generic_type("builtins.str", [])
        items: list[Type] = [
            NoneType() if name is None else LiteralType(name, string) for name in names
        ]
        return TupleType(items, attribute_ctx.api.named_generic_type("builtins.tuple", [string]))
