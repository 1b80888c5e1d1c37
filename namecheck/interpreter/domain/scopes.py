"""The scope that a name belongs to, as in the compiler: decided by the assignments in the body."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass, field

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True)
class ScopeInfo:
    """The names that a scope binds, those it declares global or nonlocal, and whether it yields."""

    local: set[str] = field(default_factory=set)
    global_: set[str] = field(default_factory=set)
    nonlocal_: set[str] = field(default_factory=set)
    generator: bool = False


def examine(node: ast.AST) -> ScopeInfo:
    """The bindings of a module, class, function, lambda or comprehension."""
    info = ScopeInfo()
    if isinstance(node, FUNCTIONS):
        info.local.update(argument.arg for argument in parameters(node.args))
        body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
    elif isinstance(node, COMPREHENSIONS):
        body = [generator.target for generator in node.generators]
    else:
        body = getattr(node, "body", [])
    for part in body:
        for inner in _walk(part):
            _note(inner, info)
    info.local -= info.global_ | info.nonlocal_
    return info


def rebound(tree: ast.Module) -> frozenset[str]:
    """The names that a module binds in more than one place, in a loop, or from its functions."""
    places: Counter[str] = Counter()
    for statement in tree.body:
        looped = isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
        for inner in _walk(statement):
            once = ScopeInfo()
            _note(inner, once)
            places.update(dict.fromkeys(once.local, 1 + looped))
    again = {name for name, number in places.items() if number > 1}
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Global):
            again.update(inner.names)
    return frozenset(again)


def parameters(signature: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, the variadic ones included."""
    every = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
    return every + [extra for extra in (signature.vararg, signature.kwarg) if extra]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and its descendants, without the bodies of inner scopes."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if isinstance(current, (*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS)):
            continue
        stack.extend(children(current))


# Contexts, operators and plain constants: no name is bound below them.
_BARE: Final = frozenset({"ctx", "op", "ops", "id", "attr", "kind", "type_comment", "type_ignores"})


_FIELDS: Final = {
    kind: tuple(name for name in kind._fields if name not in _BARE)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def children(node: ast.AST) -> list[ast.AST]:
    """The child nodes of a node, without its context and its operators.

    `ast.iter_child_nodes` yields these too, and takes several times as long.
    """
    nodes_below: list[ast.AST] = []
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            nodes_below += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            nodes_below.append(value)
    return nodes_below


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements below a node, inner scopes included; expressions are not visited."""
    stack = [tree]
    while stack:
        node = stack.pop()
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            for inner in getattr(node, name, ()):
                if isinstance(inner, ast.stmt):
                    yield inner
                stack.append(inner)


def _note(node: ast.AST, info: ScopeInfo) -> None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        info.local.add(node.id)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        info.local.add(node.name)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        info.local.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.Global):
        info.global_.update(node.names)
    elif isinstance(node, ast.Nonlocal):
        info.nonlocal_.update(node.names)
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        info.local.add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        info.local.add(node.rest)
    elif isinstance(node, (ast.Yield, ast.YieldFrom)):
        info.generator = True


def is_stub(node: ast.AST) -> bool:
    """Whether a function is only there to be overridden: abstract, or without a body."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return "abstractmethod" in decorators(node) or all(map(_says_nothing, node.body))


def decorators(node: ast.AST) -> set[str]:
    """The last words of the names of a function's decorators."""
    found = set[str]()
    for decorator in getattr(node, "decorator_list", []):
        if isinstance(decorator, ast.Attribute):
            found.add(decorator.attr)
        elif isinstance(decorator, ast.Name):
            found.add(decorator.id)
    return found


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, (ast.Pass, ast.Raise))
