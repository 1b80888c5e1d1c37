"""Finds the nodes of a finding in the tree of its file, and makes edits around them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from namecheck.core.findings import Edit, Span
from namecheck.core.syntax import Position, Source, position
from namecheck.core.trees import children, nodes
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import Settings

if TYPE_CHECKING:
    from namecheck.operators import Operator

Scope: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_CLOSED: Final = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_INFIX: Final = (ast.BinOp, ast.Compare, ast.BoolOp)


class Site:
    """One file with findings to fix, among the other files of a run.

    `files` finds and reads them, `imported` are those that some file of the run imports.
    """

    def __init__(
        self,
        source: Source,
        settings: Settings,
        open_files: Callable[[], ProjectFiles],
        imported: Callable[[], frozenset[str]],
    ) -> None:
        self.source = source
        self.settings = settings
        self.files = open_files
        self.imported = imported

    def row(self, operator: str) -> Operator | None:
        """The row of an operator or of its in-place form."""
        from namecheck import operators  # which is slow to import

        return operators.row_of(operator, self.settings.rows())

    @cached_property
    def _expressions(self) -> list[ast.expr]:
        return [node for node in nodes(self.source.tree) if isinstance(node, ast.expr)]

    @cached_property
    def _outermost(self) -> dict[Position, ast.expr]:
        """The outermost expression at each position."""
        # Outer ones come first, and the last of one key is kept.
        return {position(node): node for node in reversed(self._expressions)}

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in nodes(self.source.tree) for child in children(node)}

    # Reading the source

    def expression(self, span: Span) -> ast.expr | None:
        """The outermost expression with exactly this span."""
        return self._outermost.get(self.source.position(span))

    def text(self, expression: ast.expr) -> str:
        """The source of an expression."""
        return self.source.segment(self.source.span(expression))

    def line(self, expression: ast.expr) -> str:
        """The source of an expression, on one line."""
        return " ".join(self.text(expression).split())

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that contains a node."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self._parents.get(current)
        return current

    def scope(self, node: ast.AST) -> Scope:
        """The scope that contains a node."""
        current = self._parents.get(node)
        while current is not None and not isinstance(current, Scope):
            current = self._parents.get(current)
        return self.source.tree if current is None else current

    def assigned(self, assignee: ast.Name) -> ast.expr | None:
        """The value assigned to a variable, if it is assigned once and used only here."""
        scope = self.scope(assignee)
        same = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Name) and node.id == assignee.id and node is not assignee
        ]
        if len(same) != 1 or not isinstance(same[0].ctx, ast.Store):
            return None
        statement = self._parents.get(same[0])
        if isinstance(statement, ast.AnnAssign) or (
            isinstance(statement, ast.Assign) and statement.targets == same
        ):
            return statement.value if self.scope(same[0]) is scope else None
        return None

    def value(self, expression: ast.expr | None) -> ast.expr | None:
        """An expression, or the value that a variable holds for this use alone."""
        return self.assigned(expression) if isinstance(expression, ast.Name) else expression

    def ending(self, expression: ast.expr) -> Span | None:
        """The place of the attribute, or its call, that ends an expression: ``.x``, ``.x(…)``."""
        called = expression.func if isinstance(expression, ast.Call) else expression
        if not isinstance(called, ast.Attribute):
            return None
        word = self.source.span(called).tail(len(called.attr) + 1)
        at = Span(*word.start, *self.source.span(expression).end)
        return at if self.source.segment(at).startswith(".") else None

    def written_behind(self, expression: ast.expr, text: str) -> Span | None:
        """The place of a text right after an expression; None where there is another text."""
        span = self.source.span(expression)
        line = self.source.lines[span.end_line - 1]
        if not line.startswith(text, span.end_column - 1):
            return None
        return Span(*span.end, span.end_line, span.end_column + len(text))

    def quote(self, node: ast.AST) -> str:
        """The quote for a new string there: not that of a surrounding f-string."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.JoinedStr):
            current = self._parents.get(current)
        if current is None:
            return '"'
        around = self.text(current)
        return "'" if around.lstrip("rRfF").startswith('"') else '"'

    # Edits

    def behind(self, expression: ast.expr, text: str) -> tuple[Edit, ...]:
        """The edits that append ``.x``, ``[…]`` or the like to an expression."""
        span = self.source.span(expression)
        start, end = Span(*span.start, *span.start), span.tail(0)
        if isinstance(expression, _CLOSED):
            return (Edit(end, text),)
        if self._is_in_parentheses(expression, span):
            closing = self._past_parenthesis(span)
            return (Edit(closing, text),)
        return (Edit(start, "("), Edit(end, f"){text}"))

    def _is_in_parentheses(self, expression: ast.expr, span: Span) -> bool:
        """Whether the parentheses around it are certainly its own: its parent has none there."""
        if not isinstance(self._parents.get(expression), _INFIX):
            return False
        before = self.source.lines[span.line - 1][: span.column - 1].rstrip()
        behind = self.source.lines[span.end_line - 1][span.end_column - 1 :].lstrip()
        return before.endswith("(") and behind.startswith(")")

    def _past_parenthesis(self, span: Span) -> Span:
        line = self.source.lines[span.end_line - 1]
        column = line.index(")", span.end_column - 1) + 2
        return Span(span.end_line, column, span.end_line, column)

    def argument(self, call_node: ast.Call, text: str) -> tuple[Edit, ...]:
        """The edit that appends an argument to a call."""
        arguments = [*call_node.args, *(keyword.value for keyword in call_node.keywords)]
        if not arguments:
            closing = self.source.span(call_node).tail(1)
            return (Edit(Span(*closing.start, *closing.start), text),)
        last = max(self.source.span(node) for node in arguments)
        return (Edit(last.tail(0), f", {text}"),)

    def replaced(self, expression: ast.expr, text: str) -> Edit:
        """The edit that replaces an expression by a text."""
        return Edit(self.source.span(expression), text)

    def line_before(self, node: ast.AST, text: str) -> tuple[Edit, ...]:
        """The edit that inserts a statement before a node's; none where that shares its line."""
        statement = self.statement(node)
        if statement is None:
            return ()
        span = self.source.span(statement)
        indent = self.source.lines[span.line - 1][: span.column - 1]
        if indent.strip():
            return ()
        return (Edit(Span(span.line, 1, span.line, 1), f"{indent}{text}\n"),)

    def strings(self, node: ast.AST) -> Iterator[ast.Constant]:
        """The string literals in an expression, except those in calls."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child
            elif not isinstance(child, (ast.Call, ast.Lambda)):
                yield from self.strings(child)

    def strings_everywhere(self) -> Iterator[ast.Constant]:
        """All string literals of the file, except those with interpolations."""
        outermost: dict[Span, ast.expr] = {}
        for node in self._expressions:
            outermost.setdefault(self.source.span(node), node)
        for node in outermost.values():
            within = isinstance(self._parents.get(node), ast.JoinedStr)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and not within:
                yield node


def is_stable(expression: ast.expr) -> bool:
    """Whether an expression may be repeated in the source: a variable, or an attribute of one."""
    if isinstance(expression, ast.Attribute):
        return is_stable(expression.value)
    return isinstance(expression, ast.Name)


def quoted(word: str, like: str = '"') -> str:
    """A name as a string literal, with the quotes of a text."""
    mark = "'" if like.lstrip("rRuUbB").startswith("'") else '"'
    return f"{mark}{word}{mark}"
