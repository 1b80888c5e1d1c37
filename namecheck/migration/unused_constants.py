"""Private constants that contained names and are unused now."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from namecheck.editing.documents import Document
from namecheck.editing.edits import applied
from namecheck.editing.outline import Outline


def without_unused(before: Document, after: Document) -> Document:
    """The document without the constants of names whose last use was removed.

    Only those with a leading underscore: other files may use the rest. Raises `Refused` where the
    result is no Python.
    """
    reads_before, reads_after = _reads(before), _reads(after)
    outline = Outline(after.source)
    unused = [
        statement
        for statement, name in _constants(after)
        if reads_before[name] and not reads_after[name] and f'"{name}"' not in after.text
    ]
    for statement in unused:
        outline.remove(statement)
    return applied(after, outline.removals()) if unused else after


def _reads(document: Document) -> Counter[str]:
    """How often each variable is read, or bound by anything but a plain assignment."""
    return Counter(
        node.id
        for node in ast.walk(document.source.tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
    )


def _constants(document: Document) -> Iterator[tuple[ast.stmt, str]]:
    """The private constants of a module that are texts, or lists of such."""
    for statement in document.source.tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if not isinstance(target, ast.Name) or not _is_private(target.id):
                continue
            if _is_text(statement.value):
                yield statement, target.id


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _is_text(expression: ast.expr) -> bool:
    if isinstance(expression, (ast.Tuple, ast.List)):
        return all(map(_is_text, expression.elts))
    if isinstance(expression, (ast.Name, ast.Starred)):
        return True
    return isinstance(expression, ast.Constant) and isinstance(
        expression.value, str | None | type(...)
    )
