"""Type comments (PEP 484) as the annotations that they stand for: ``x = f()  # type: Batch["n"]``.

Only comments with a string in them are read: without one they name no dims.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from namecheck.core import parsing

_COMMENT: Final = re.compile(r"#\s*type:(?!\s*ignore\b)[^\n]*[\"']")
_BODIES: Final = ("body", "orelse", "finalbody", "handlers", "cases")


def parsed(text: str) -> ast.Module | None:
    """The tree of a text with its type comments as annotations; None where it has none."""
    if "# type:" not in text or _COMMENT.search(text) is None:
        return None
    try:
        tree = parsing.module(text, type_comments=True)
    except SyntaxError:
        return None  # a type comment at another place is a comment like any other
    _Reader(text).annotate(tree)
    return tree


class _Reader:
    """Writes the type comments of one text into its tree."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()

    def annotate(self, tree: ast.AST) -> None:
        """Annotate all statements below a node."""
        for name in _BODIES:
            block = getattr(tree, name, None)
            if isinstance(block, list):
                block[:] = [one for statement in block for one in self._statement(statement)]

    def _statement(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        self.annotate(statement)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._function(statement)
            yield statement
            return
        annotation = self._annotation(statement)
        if annotation is None:
            yield statement
        elif isinstance(statement, ast.Assign):
            yield self._assignment(statement, annotation)
        else:
            targets = _bound(statement)
            if len(targets) == 1:
                bare = ast.AnnAssign(target=targets[0], annotation=annotation, value=None, simple=1)
                yield ast.copy_location(bare, targets[0])
            yield statement

    def _assignment(self, assignment: ast.Assign, annotation: ast.expr) -> ast.stmt:
        target = assignment.targets[0]
        if len(assignment.targets) > 1 or not isinstance(target, (ast.Name, ast.Attribute)):
            return assignment
        annotated = ast.AnnAssign(
            target=target,
            annotation=annotation,
            value=assignment.value,
            simple=int(isinstance(target, ast.Name)),
        )
        return ast.copy_location(annotated, assignment)

    def _function(self, function_node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        spec = function_node.args
        every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
        for argument in every:
            if argument.annotation is None:
                argument.annotation = self._annotation(argument)
        comment = function_node.type_comment
        if comment is None or not _has_text(comment):
            return
        try:
            parsing.require_cheap(comment)
            signature = ast.parse(comment, mode="func_type")
        except SyntaxError:
            return
        types, result = signature.argtypes, signature.returns
        for expression in (*types, result):
            self._place(expression, comment, function_node, function_node.body[0])
        function_node.returns = function_node.returns or result
        listed = [each for each in (*spec.posonlyargs, *spec.args, spec.vararg) if each]
        listed += [each for each in (*spec.kwonlyargs, spec.kwarg) if each]
        if len(listed) == len(types) + 1 and listed[0].arg in ("self", "cls"):
            listed = listed[1:]
        if len(listed) == len(types):
            for argument, annotation in zip(listed, types, strict=True):
                argument.annotation = argument.annotation or annotation

    def _annotation(self, node: ast.AST) -> ast.expr | None:
        """The annotation in the comment of a node."""
        comment: str | None = getattr(node, "type_comment", None)
        if comment is None or not _has_text(comment):
            return None
        try:
            annotation = parsing.expression(comment)
        except SyntaxError:
            return None
        self._place(annotation, comment, node, node)
        return annotation

    def _place(
        self, expression: ast.expr, comment: str, start_node: ast.AST, end_node: ast.AST
    ) -> None:
        """Place an expression where its comment stands, between two nodes."""
        start = getattr(start_node, "lineno", 1)
        end = getattr(end_node, "end_lineno", start)
        lines: Sequence[str] = self._lines[start - 1 : end]
        number = next((n for n, line in enumerate(lines) if comment in line), None)
        line, column = start, 0
        if number is not None:
            line = start + number
            column = len(lines[number].partition(comment)[0].encode())
        for node in ast.walk(expression):
            if isinstance(node, ast.expr):
                node.lineno = node.end_lineno = line
                node.col_offset = column
                node.end_col_offset = column + len(comment.encode())


def _has_text(comment: str) -> bool:
    return '"' in comment or "'" in comment


def _bound(statement: ast.stmt) -> list[ast.Name]:
    """The variables that a loop or a context binds."""
    bound_nodes: list[ast.expr | None] = []
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        bound_nodes = [statement.target]
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        bound_nodes = [item.optional_vars for item in statement.items]
    return [target for target in bound_nodes if isinstance(target, ast.Name)]
