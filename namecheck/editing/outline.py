"""The statements of a file: their scopes and blocks, and their removal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from namecheck.core.findings import Span
from namecheck.core.syntax import Source
from namecheck.editing.edits import Edit

Scope: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Outline:
    """The statements of one file, in order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.statements: list[ast.stmt] = []
        self.scopes: dict[ast.stmt, Scope] = {}
        self._blocks: dict[ast.stmt, list[ast.stmt]] = {}
        self._removed: set[ast.stmt] = set()
        self._enter(source.tree, source.tree)

    def _enter(self, node: ast.AST, scope: Scope) -> None:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for child in block:
                if isinstance(child, ast.stmt):
                    self.statements.append(child)
                    self.scopes[child] = scope
                    self._blocks[child] = block
                inner = child if isinstance(child, _SCOPES) else scope
                self._enter(child, inner)

    @cached_property
    def quotes(self) -> dict[ast.expr, str]:
        """The quote of the f-string that contains an expression."""
        quotes: dict[ast.expr, str] = {}
        for node in ast.walk(self._source.tree):
            if isinstance(node, ast.JoinedStr):
                text = self._source.segment(self._source.span(node))
                quote = next((letter for letter in text if letter in "'\""), "'")
                for part in ast.walk(node):
                    if isinstance(part, ast.expr):
                        quotes.setdefault(part, quote)
        return quotes

    def remove(self, statement: ast.stmt) -> None:
        """Remove a statement."""
        self._removed.add(statement)

    def removals(self) -> Iterator[Edit]:
        """The edits that remove statements; a block that becomes empty has ``pass``."""
        for statement in self.statements:
            if statement in self._removed:
                block = self._blocks[statement]
                emptied = all(other in self._removed for other in block)
                needed = emptied and statement is block[0] and block is not self._source.tree.body
                yield self._removal(statement, "pass" if needed else "")

    def _removal(self, statement: ast.stmt, text: str) -> Edit:
        span = self._source.span(statement)
        first, last = self._source.lines[span.line - 1], self._source.lines[span.end_line - 1]
        before, after = first[: span.column - 1], last[span.end_column - 1 :]
        if text or before.strip() or after.strip().startswith(";"):
            return Edit(span, text or "pass")
        if after.strip():  # a comment, which is kept
            blank = len(after) - len(after.lstrip())
            return Edit(Span(span.line, span.column, span.end_line, span.end_column + blank), "")
        if span.end_line < len(self._source.lines):
            return Edit(Span(span.line, 1, span.end_line + 1, 1), "")
        return Edit(Span(span.line, 1, span.end_line, len(last) + 1), "")
