"""The scope that a name belongs to, as in the compiler: decided by the assignments in the body."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.trees import add_children, last_word

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES: Final = frozenset({*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS})
# The results that calls never have, and what an error says of a method that others override.
_NO_RETURN: Final = frozenset({"NoReturn", "Never"})
_OVERRIDE: Final = r"(?i)implement|overrid|abstract|subclass"
# The nodes that bind a name, or declare the scope of one.
_BINDING: Final = frozenset(
    {
        ast.Name,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Import,
        ast.ImportFrom,
        ast.Global,
        ast.Nonlocal,
        ast.ExceptHandler,
        ast.MatchAs,
        ast.MatchStar,
        ast.MatchMapping,
        ast.Yield,
        ast.YieldFrom,
    }
)


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
    _enter(body, info)
    info.local -= info.global_ | info.nonlocal_
    return info


def bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds in its own scope."""
    info = ScopeInfo()
    _enter([statement], info)
    return info.local


def rebound(tree: ast.Module) -> frozenset[str]:
    """The names that a module binds in more than one place, in a loop, or from its functions."""
    places: Counter[str] = Counter()
    for statement in tree.body:
        looped = isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
        for inner in _own(statement):
            if inner.__class__ in _BINDING:
                once = ScopeInfo()
                _enter_one(inner, once)
                places.update(dict.fromkeys(once.local, 1 + looped))
    again = frozenset(name for name, number in places.items() if number > 1)
    return again | set_by_functions(tree)


def set_by_functions(tree: ast.Module) -> frozenset[str]:
    """The names of a module that its functions declare global, to bind them."""
    declared = (node.names for node in statements(tree) if isinstance(node, ast.Global))
    return frozenset(name for names in declared for name in names)


def parameters(signature: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, the variadic ones included."""
    every = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
    return every + [extra for extra in (signature.vararg, signature.kwarg) if extra]


def defaults(signature: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function that have a default, each with it."""
    positional = [*signature.posonlyargs, *signature.args]
    yield from (
        (parameter.arg, default)
        for parameter, default in zip(positional[::-1], signature.defaults[::-1], strict=False)
    )
    yield from (
        (parameter.arg, default)
        for parameter, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
        if default is not None
    )


def _enter(body: Sequence[ast.AST], info: ScopeInfo) -> None:
    """Record the names that these nodes and their descendants bind in the same scope."""
    stack = [*body]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind in _BINDING:
            _enter_one(node, info)
        if kind not in _SCOPES:
            add_children(node, stack)


def own_nodes(function_node: Function) -> Iterator[ast.AST]:
    """The nodes in the body of a function, without the bodies of inner scopes."""
    body = [function_node.body] if isinstance(function_node, ast.Lambda) else function_node.body
    for part in body:
        yield from _own(part)


def _own(root: ast.AST) -> Iterator[ast.AST]:
    """A node and its descendants, without the bodies of inner scopes."""
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ not in _SCOPES:
            add_children(node, stack)


def _enter_one(node: ast.AST, info: ScopeInfo) -> None:
    """Record the names that one node binds."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
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


# The lists of statements in each kind of node that has some, handlers and cases included.
_LISTS: Final = ("body", "handlers", "orelse", "finalbody", "cases")
_LISTS_OF: Final[Mapping[type[ast.AST], tuple[str, ...]]] = {
    kind: tuple(name for name in _LISTS if name in kind._fields)
    for kind in vars(ast).values()
    if isinstance(kind, type)
    and issubclass(kind, (ast.mod, ast.stmt, ast.ExceptHandler, ast.match_case))
}


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements below a node, inner scopes included; expressions are not visited."""
    stack = [tree]
    while stack:
        node = stack.pop()
        for name in _LISTS_OF.get(node.__class__, ()):
            for inner in getattr(node, name):
                if isinstance(inner, ast.stmt):
                    yield inner
                stack.append(inner)


def is_stub(node: ast.AST) -> bool:
    """Whether a function is only there to be overridden: abstract, or without a body."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    if "abstractmethod" in decorators(node):
        return True
    return all(map(_is_trivial, node.body)) and not declares_no_return(node)


def declares_no_return(written_function: ast.AST) -> bool:
    """Whether a function declares that its calls never return: ``-> NoReturn``, ``-> Never``."""
    if not isinstance(written_function, ast.FunctionDef) or written_function.returns is None:
        return False
    returns = written_function.returns
    word = str(returns.value) if isinstance(returns, ast.Constant) else last_word(returns)
    return word.rpartition(".")[2] in _NO_RETURN


def refuses(written_function: Function) -> bool:
    """Whether a function is there to raise an error, which does not ask for an override of it."""
    body = [] if isinstance(written_function, ast.Lambda) else written_function.body
    return any(
        isinstance(statement, ast.Raise) and not re.search(_OVERRIDE, ast.unparse(statement))
        for statement in body
    )


def is_unwritten(node: ast.AST) -> bool:
    """Whether the result of a function is that of others which override it, and not its own None.

    Its body is missing, though it declares a result, or is ``...``, or it is abstract.
    """
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not is_stub(node):
        return False
    last = node.body[-1]
    is_ellipsis = (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Constant)
        and last.value.value is ...
    )
    declares_value = node.returns is not None and not (
        isinstance(node.returns, ast.Constant) and node.returns.value is None
    )
    return is_ellipsis or declares_value or "abstractmethod" in decorators(node)


def decorators(node: ast.AST) -> set[str]:
    """The last words of the names of a function's decorators."""
    words = set[str]()
    for decorator in getattr(node, "decorator_list", []):
        if isinstance(decorator, ast.Attribute):
            words.add(decorator.attr)
        elif isinstance(decorator, ast.Name):
            words.add(decorator.id)
    return words


def _is_trivial(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, (ast.Pass, ast.Raise))
