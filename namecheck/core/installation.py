"""Whether a program puts names on torch, by ``namecheck.install()`` or ``namecheck.runtime()``.

The syntax tree decides, by all bindings of names in the file: imports with their aliases, and
variables that such a name is assigned to. Scopes and order are ignored, and so are comments and
strings.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from namecheck.core import syntax

_INSTALLERS: Final = frozenset(
    {
        "namecheck.install",
        "namecheck.runtime",
        "namecheck.runtime.install",
        "namecheck.runtime.runtime",
    }
)
_PATHS: Final = _INSTALLERS | {"namecheck"}


def installs(tree: ast.Module) -> bool:
    """Whether a file puts names on torch: it calls an installing function, or passes one to a call.

    ``Pool(initializer=namecheck.install)`` counts: the call is made elsewhere.
    """
    bindings = _bindings(tree)
    return any(
        not _INSTALLERS.isdisjoint(_paths(node, bindings))
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and bindings
        for node in (call.func, *call.args, *(keyword.value for keyword in call.keywords))
    )


def file_installs(data: bytes, filename: str) -> bool:
    """Whether the file with these bytes puts names on torch; False where Python cannot read it."""
    if b"namecheck" not in data or (b"install" not in data and b"runtime" not in data):
        return False
    try:
        return installs(syntax.parse(data, filename).tree)
    except syntax.Refused:
        return False


def _bindings(tree: ast.Module) -> Mapping[str, AbstractSet[str]]:
    """The names in a file that are bound to namecheck or to an installing function, with paths."""
    bindings: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in _imports(tree):
        if path in _PATHS:
            bindings[name].add(path)
    assignments = list(_assignments(tree)) if bindings else []
    size = -1
    while size != (size := sum(map(len, bindings.values()))):
        for name, value in assignments:
            if paths := _paths(value, bindings):
                bindings[name] |= paths
    return bindings


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that imports bind, each with its dotted path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is not None:
                    yield alias.asname, alias.name
                else:
                    top = alias.name.partition(".")[0]
                    yield top, top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                names = ("install", "runtime") if alias.name == "*" else (alias.name,)
                for name in names:
                    yield alias.asname or name, f"{node.module}.{name}"


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


def _paths(expression: ast.expr, bindings: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    """The relevant paths that an expression ``a.b.c`` may refer to."""
    attribute_names: list[str] = []
    while isinstance(expression, ast.Attribute):
        attribute_names.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return frozenset()
    words = attribute_names[::-1]
    return {".".join([path, *words]) for path in bindings.get(expression.id, ())} & _PATHS
