"""The place for a new import in a file."""

from __future__ import annotations

import ast

from namecheck.core.findings import Span
from namecheck.core.syntax import Source


def insertion_point(source: Source) -> Span:
    """Before the first import, or the first statement, that another import may precede."""
    rest = [node for node in source.tree.body if not _comes_first(node, source.tree)]
    imports = [node for node in rest if isinstance(node, (ast.Import, ast.ImportFrom))]
    first = imports[0] if imports else rest[0] if rest else None
    if first is None:
        line = len(source.lines)
        return Span(line, 1, line, 1)
    decorators = getattr(first, "decorator_list", None)
    line = min([first.lineno, *(node.lineno for node in decorators or ())])
    return Span(line, 1, line, 1)


def _comes_first(statement: ast.stmt, tree: ast.Module) -> bool:
    """The docstring, and imports from ``__future__``."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return docstring and statement is tree.body[0]


def leading_imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The imports at the start of a file, after the statements that must come first."""
    leading: list[ast.Import | ast.ImportFrom] = []
    for node in tree.body:
        if _comes_first(node, tree):
            continue
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            break
        leading.append(node)
    return leading
