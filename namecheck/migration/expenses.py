"""What a migration spends on a file besides the analyses of it, in the same steps."""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core import parsing
from namecheck.editing.documents import Document
from namecheck.interpreter.workspace.analysis import Purse

TOO_COSTLY: Final = "its analysis takes more steps than it may"
"""The reason why a file is not migrated."""

# libcst takes 60 microseconds and 2,400 bytes for a token; a step takes some 4 microseconds.
_TOKEN: Final = 16
# Calls of the results of calls, and calls in calls, take it up to 7 microseconds for the square of
# their depth.
_SQUARE_OF_DEPTH: Final = 2


def pay_for_tree(document: Document, purse: Purse) -> None:
    """Take from a purse what the libcst tree of a document costs; raises `Exhausted`."""
    squares = sum(depth * depth for depth in depths(document.source.tree))
    purse.require(_TOKEN * parsing.count_tokens(document.text) + _SQUARE_OF_DEPTH * squares)


def depths(tree: ast.AST) -> list[int]:
    """How deep each expression is that is in no other."""
    deepest: list[int] = []
    unvisited: list[tuple[ast.AST, int, int]] = [(tree, -1, 0)]
    while unvisited:
        node, outermost, depth = unvisited.pop()
        if isinstance(node, ast.expr) and outermost < 0:
            outermost = len(deepest)
            deepest.append(0)
        if outermost >= 0:
            depth += 1
            deepest[outermost] = max(deepest[outermost], depth)
        unvisited += [(child, outermost, depth) for child in ast.iter_child_nodes(node)]
    return deepest
