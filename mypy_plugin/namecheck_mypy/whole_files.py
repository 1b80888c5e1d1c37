"""Files that ``# type: ignore`` before the first statement excludes as a whole."""

from __future__ import annotations

import ast


def is_left_out(data: bytes) -> bool:
    """Whether mypy ignores all errors of a file, because of such a comment."""
    if b"type:" not in data:
        return False
    try:
        tree = ast.parse(data, type_comments=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    if not tree.body or not tree.type_ignores:
        return False
    first = tree.body[0]
    decorators = getattr(first, "decorator_list", [])
    begin: int = min(node.lineno for node in (first, *decorators))
    comment: int = min(it.lineno for it in tree.type_ignores)
    return comment < begin
