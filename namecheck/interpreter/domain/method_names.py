"""The methods of lists, sets and dicts, and what changes such a container."""

from __future__ import annotations

import ast
from typing import Final

_CHANGING_WORDS: Final = """
append add appendleft extend extendleft update insert pop popleft popitem remove discard clear
reverse sort setdefault rotate intersection_update difference_update symmetric_difference_update
"""
# The methods that change a list, a set or a dict.
CHANGING: Final = frozenset(_CHANGING_WORDS.split())
# All methods of lists, sets and dicts.
OF_CONTAINERS: Final = frozenset({*dir(list), *dir(dict), *dir(set), *CHANGING})


def changed_container(node: ast.AST) -> ast.expr | None:
    """The container that a node changes: the one before ``[…] =`` or ``.append``; else None."""
    if isinstance(node, ast.Subscript):
        return None if isinstance(node.ctx, ast.Load) else node.value
    return node.value if isinstance(node, ast.Attribute) and node.attr in CHANGING else None
