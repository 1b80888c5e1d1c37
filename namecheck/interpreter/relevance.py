"""Which functions can matter to names at all.

Most functions of a file neither name a dim nor call one that does; run on arguments without
names they can say nothing. They are found by the words they use: a definition is relevant if it
uses the vocabulary of naming, or the name of something relevant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

VOCABULARY: Final = frozenset(
    {
        "names",
        "refine_names",
        "rename",
        "rename_",
        "align_to",
        "align_as",
        "align_tensors",
        "unflatten",
        "reveal_names",
    }
)


def relevant_definitions(tree: ast.Module) -> frozenset[ast.AST]:
    """The functions, lambdas and classes of a file that can matter to names."""
    words: dict[ast.AST, set[str]] = {}
    binds: dict[ast.AST, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            words[node] = set(_words(node))
            binds[node] = {node.name}
        elif isinstance(node, ast.Lambda):
            words[node] = set(_words(node))
            binds[node] = set()
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            words[node] = set(_words(node))
            binds[node] = set(_targets(node))
    known = set(VOCABULARY)
    relevant: set[ast.AST] = set()
    growing = True
    while growing:
        growing = False
        for node, used in words.items():
            if node not in relevant and used & known:
                relevant.add(node)
                growing |= not binds[node] <= known
                known |= binds[node]
    return frozenset(relevant)


def _words(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.keyword) and inner.arg:
            yield inner.arg
        elif isinstance(inner, ast.Constant) and inner.value == "names":
            yield "names"


def _targets(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Store):
            yield inner.id if isinstance(inner, ast.Name) else inner.attr
