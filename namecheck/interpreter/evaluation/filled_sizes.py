"""Sizes that jaxtyping fills in from the object of a method: ``"batch {self.dim}"``.

Where the constructor keeps its int under its own name, ``self.dim = dim``, such a size is the axis
with the name of that parameter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy

from namecheck.core.trees import is_name, nodes
from namecheck.interpreter.domain.scopes import parameters

_BRACES = r"\{([^{}]*)\}"
_OWN = r"\bself\.(\w+)"


def named(annotation: ast.expr, class_node: ast.ClassDef) -> ast.expr:
    """An annotation in a class, with the axes of its constructor instead of what they fill in."""
    kept = frozenset(_kept(class_node))

    def axes(braces: re.Match[str]) -> str:
        own = set(re.findall(_OWN, braces[1]))
        return re.sub(_OWN, r"\1", braces[1]) if own and own <= kept else braces[0]

    copied = deepcopy(annotation)
    for part in nodes(copied):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            part.value = re.sub(_BRACES, axes, part.value)
    return copied


def _kept(class_node: ast.ClassDef) -> Iterator[str]:
    """The int parameters of a constructor that are attributes of their names, and stay so."""
    every = nodes(class_node)
    written = [*_written(every)]
    for maker in class_node.body:
        if not isinstance(maker, ast.FunctionDef) or maker.name != "__init__":
            continue
        ints = {each.arg for each in parameters(maker.args) if is_name(each.annotation, "int")}
        rebound = {
            each.id
            for each in nodes(maker)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        for statement in maker.body:
            match statement:
                case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.Name(word)):
                    if name == word and written.count(name) == 1 and name in ints - rebound:
                        yield name


def _written(code_nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in code_nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.attr
