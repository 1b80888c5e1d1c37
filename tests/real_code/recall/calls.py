"""Reads calls of tensor methods and functions in a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from tests.real_code.recall.mutation import Source

LIBRARIES = {"torch", "F", "functional"}
"""The names under which functions, not methods, are called."""


def method_calls(tree: ast.AST, names: Collection[str]) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of methods, each with its receiver."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (receiver := receiver_of(node, names)) is not None:
            yield node, receiver


def receiver_of(node: ast.expr, names: Collection[str]) -> ast.expr | None:
    """The receiver of a call of one of these methods."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and not is_library(node.func.value)
    ):
        return node.func.value
    return None


def function_calls(tree: ast.AST, names: Collection[str]) -> Iterator[ast.Call]:
    """The calls of functions: `einsum(…)`, `torch.einsum(…)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
            (isinstance(node.func, ast.Name) and node.func.id in names)
            or (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in names
                and is_library(node.func.value)
            )
        ):
            yield node


def is_library(node: ast.expr) -> bool:
    """Whether an expression is a library rather than a tensor."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return name in LIBRARIES


def number(node: ast.expr | None) -> int | None:
    """The value of an integer literal."""
    try:
        value = ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError):
        return None
    return value if type(value) is int else None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((item.value for item in call.keywords if item.arg == name), None)


def sizes(call: ast.Call) -> list[ast.expr]:
    """The sizes of a view: its arguments, or the items of the only one."""
    if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple | ast.List):
        return call.args[0].elts
    return call.args


def adjacent_swaps(source: Source, nodes: Sequence[ast.expr]) -> Iterator[list[str]]:
    """The texts of nodes, with two neighbours exchanged that are not the same."""
    texts = [source.of(node) for node in nodes]
    for place, (left, right) in enumerate(pairwise(texts)):
        if left != right:
            yield [*texts[:place], right, left, *texts[place + 2 :]]


def without_arguments(source: Source, call: ast.Call, arguments: str) -> str:
    """A call with other arguments."""
    return f"{source.of(call.func)}({arguments})"


def swapped_dim(dim: int) -> int:
    """A neighbour of a dim."""
    return {-1: -2, 0: 1}.get(dim, dim - 1 if dim > 0 else dim + 1)
