"""What the syntax of a function tells of its calls: whether to follow one, and what it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.trees import CHANGING, changed_container, nodes
from namecheck.interpreter.domain.scopes import Function, examine, own_nodes

# Functions that only look at their arguments.
_LOOKING: Final = frozenset(
    {"callable", "getattr", "hasattr", "id", "isinstance", "issubclass", "print", "repr", "setattr"}
)
# A short function has at most so many statements.
_SHORT: Final = 8
_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While, ast.comprehension)


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """The result and the effects of a function, as far as its syntax alone tells them.

    The result is its first argument if it `returns_argument`; a function of this kind if it
    `returns_decorator`. If it `leaves_argument`, it does not call the first argument either, nor
    passes it on. `filled` are the variables of outer scopes whose containers it may change,
    `rebound` those that it binds. It `is_short` if it has few statements, and no loop.
    """

    returns_argument: bool
    leaves_argument: bool
    returns_decorator: bool
    filled: frozenset[str]
    rebound: frozenset[str]
    is_short: bool


def unfollowed(function_node: Function) -> Unfollowed:
    """Examine a function."""
    body_nodes = list(own_nodes(function_node))
    scope = examine(function_node)
    results = _results(function_node, body_nodes)
    argument = _first_parameter(function_node)
    is_plain = not scope.generator and not isinstance(function_node, ast.AsyncFunctionDef)
    returns_argument = (
        is_plain
        and argument is not None
        and bool(results)
        and not _is_bound(argument, function_node)
        and all(isinstance(result, ast.Name) and result.id == argument for result in results)
    )
    nested_functions = {node.name: node for node in body_nodes if isinstance(node, ast.FunctionDef)}
    return Unfollowed(
        returns_argument,
        returns_argument and argument is not None and not _is_used(argument, function_node),
        is_plain
        and bool(results)
        and all(_is_decorator(result, nested_functions) for result in results),
        frozenset(filled_variables(function_node)) - scope.local,
        frozenset(scope.global_ | scope.nonlocal_),
        sum(isinstance(node, ast.stmt) for node in body_nodes) <= _SHORT
        and not any(isinstance(node, _LOOPS) for node in body_nodes),
    )


def _results(function_node: Function, body_nodes: list[ast.AST]) -> list[ast.expr | None]:
    """The expressions that a function returns; None for a path that may reach its end."""
    if isinstance(function_node, ast.Lambda):
        return [function_node.body]
    results = [node.value for node in body_nodes if isinstance(node, ast.Return)]
    if not isinstance(function_node.body[-1], (ast.Return, ast.Raise)):
        results.append(None)
    return results


def _first_parameter(function_node: Function) -> str | None:
    positional = [*function_node.args.posonlyargs, *function_node.args.args]
    return positional[0].arg if positional else None


def _is_bound(name: str, function_node: Function) -> bool:
    """Whether the body of a function binds a name, in any scope within it."""
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in nodes(function_node)
    )


def _is_decorator(
    returned_expression: ast.expr | None, nested_functions: dict[str, ast.FunctionDef]
) -> bool:
    if isinstance(returned_expression, ast.Lambda):
        return unfollowed(returned_expression).returns_argument
    nested = (
        nested_functions.get(returned_expression.id)
        if isinstance(returned_expression, ast.Name)
        else None
    )
    return nested is not None and unfollowed(nested).returns_argument


def _is_used(name: str, function_node: Function) -> bool:
    """Whether a function calls the value of a name, a method of it, or passes it to a call."""
    for node in nodes(function_node):
        if not isinstance(node, ast.Call):
            continue
        callee = node.func
        if isinstance(callee, ast.Attribute):
            is_harmless = callee.attr in CHANGING
            callee = callee.value
        else:
            is_harmless = isinstance(callee, ast.Name) and callee.id in _LOOKING
        values = [] if is_harmless else [*node.args, *(word.value for word in node.keywords)]
        if any(isinstance(part, ast.Name) and part.id == name for part in (callee, *values)):
            return True
    return False


def filled_variables(scope_node: ast.AST) -> Iterator[str]:
    """The variables whose containers a scope, or one within it, changes."""
    for node in nodes(scope_node):
        container = changed_container(node)
        while isinstance(container, ast.Subscript):
            container = container.value
        if isinstance(container, ast.Name):
            yield container.id
