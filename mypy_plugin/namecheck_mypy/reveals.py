"""``reveal_type(x.names)``: the names of a tensor, as a tuple of literals.

The type of ``x.names`` stays what it is wherever it is not asked to be revealed: names are no part
of types. The engine is asked what it knows of ``x`` there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import astuple
from typing import Final, TypeAlias

from mypy.nodes import MemberExpr
from mypy.plugin import AttributeContext
from mypy.types import LiteralType, NoneType, TupleType, Type

from namecheck_mypy.findings import Findings

_ASKS: Final = re.compile(rb"\breveal_type\s*\([^\n]*\.names\b")

_Place: TypeAlias = tuple[int, int, int, int]
_Names: TypeAlias = tuple[str | None, ...]


class Reveals:
    """What the engine knows of the expressions of files that ask for it."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._names: dict[str, dict[_Place, _Names]] = {}

    def names(self, ctx: AttributeContext) -> Type:
        """The type of ``x.names``."""
        context = ctx.context
        path = ctx.api.path
        if ctx.is_lvalue or not isinstance(context, MemberExpr):
            return ctx.default_attr_type
        if path not in self._names:
            self._names[path] = self._known(path)
        receiver = context.expr
        end = receiver.end_line or receiver.line, (receiver.end_column or 0) + 1
        names = self._names[path].get((receiver.line, receiver.column + 1, *end))
        if names is None:
            return ctx.default_attr_type
        string = ctx.api.named_generic_type("builtins.str", [])
        items: list[Type] = [
            NoneType() if name is None else LiteralType(name, string) for name in names
        ]
        return TupleType(items, ctx.api.named_generic_type("builtins.tuple", [string]))

    def _known(self, path: str) -> dict[_Place, _Names]:
        data = self._findings.text(path)
        if data is None or not _ASKS.search(data):
            return {}
        from namecheck.project.file_check import reveal
        from namecheck_mypy.checking import settings_of

        found = reveal(data, path, settings_of(path))
        known = {astuple(it.span): it.labels for it in found if it.labels is not None}
        return {place: known[place] for place in _asked(data) if place in known}


def _asked(data: bytes) -> Iterator[_Place]:
    """The tensors whose names are asked for: each ``x`` in ``reveal_type(x.names)``."""
    for node in ast.walk(ast.parse(data)):
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        [given] = node.args
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called == "reveal_type" and isinstance(given, ast.Attribute):
            x = given.value
            assert x.end_lineno is not None
            assert x.end_col_offset is not None
            yield x.lineno, x.col_offset + 1, x.end_lineno, x.end_col_offset + 1
