"""Expressions that do nothing but give a value, so that nothing is lost where they go."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeAlias

from namecheck import operators
from namecheck.interpreter.workspace.analysis import Applications
from namecheck.migration.plain_calls import SIZES, VALUES, Becomes, Rows

Applied: TypeAlias = Callable[[ast.expr], Applications]

_ACTS: Final = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def lost(node: ast.expr, becomes: Becomes) -> Iterator[ast.expr]:
    """The expressions in a call, or under an attribute, that are gone when it is rewritten."""
    if becomes.text is not None and not becomes.beside:
        read = node.func if isinstance(node, ast.Call) else node
        yield read.value if isinstance(read, ast.Attribute) else read
    if not isinstance(node, ast.Call):
        return
    words = {keyword.arg: keyword.value for keyword in node.keywords}
    if becomes.text is not None or becomes.suffix is not None:
        yield from (*node.args, *words.values())
    for key, text in becomes.arguments.items():
        if text in (SIZES, VALUES):
            continue
        if isinstance(key, str):
            yield from (words[key],) if key in words else ()
        elif key < len(node.args):
            yield node.args[key]


def is_idle(node: ast.expr, applied: Applied, rows: Rows, bound: Collection[str]) -> bool:
    """Whether an expression only gives a value: no call but of operators that draw nothing.

    `bound` are the names that the file binds itself: none of these is a builtin.
    """
    return all(
        _is_idle_call(inner, applied, rows, bound)
        if isinstance(inner, ast.Call)
        else not isinstance(inner, _ACTS)
        for inner in ast.walk(node)
    )


def _is_idle_call(node: ast.Call, applied: Applied, rows: Rows, bound: Collection[str]) -> bool:
    seen = applied(node)
    if not seen.each and _is_of_texts(node, bound):
        return True
    if not seen.each or seen.otherwise or any(word.arg == "out" for word in node.keywords):
        return False
    return all(_only_computes(one.operator, rows) for one in seen.each)


_BUILTINS: Final = frozenset(
    {"dict", "enumerate", "int", "len", "list", "range", "reversed", "set", "str", "tuple", "zip"}
)
_OF_TEXTS: Final = frozenset({"capitalize", "format", "join", "lower", "split", "strip", "upper"})
# What is no text has methods of these names as well: threads are joined.
_OF_OTHERS: Final = frozenset({"format", "join"})


def _is_of_texts(node: ast.Call, bound: Collection[str]) -> bool:
    """A builtin, or a method of a text, that names are often written with."""
    if isinstance(node.func, ast.Name):
        return node.func.id in _BUILTINS and node.func.id not in bound
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _OF_TEXTS:
        return False
    called_on = node.func.value
    if isinstance(called_on, ast.Call):
        return _is_of_texts(called_on, bound)
    if isinstance(called_on, (ast.Name, ast.Attribute)):
        return node.func.attr not in _OF_OTHERS and f".{node.func.attr}" not in bound
    text = isinstance(called_on, ast.Constant) and isinstance(called_on.value, str)
    return text or isinstance(called_on, ast.JoinedStr)


def bound_in(tree: ast.AST) -> frozenset[str]:
    """The names that a file binds anywhere, those of methods with a dot in front.

    All builtins are among them where an import may bring one.
    """
    return frozenset(name for node in ast.walk(tree) for name in _bound_by(node))


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        inner = node.body if isinstance(node, ast.ClassDef) else ()
        yield from (f".{one.name}" for one in inner if isinstance(one, ast.FunctionDef))
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield node.name or ""
    elif isinstance(node, ast.MatchMapping):
        yield node.rest or ""
    elif isinstance(node, ast.alias):
        yield from _BUILTINS if node.name == "*" else [node.asname or node.name.split(".")[0]]


def _only_computes(operator: str, rows: Rows) -> bool:
    """Whether an operator neither writes to its input nor draws random numbers."""
    key = operators.key_of(operator)
    row = operators.row_of(key, rows)
    if row is None or key.endswith("_") or "dropout" in key.lower():
        return False
    return not any(each.name == "generator" for signature in row.signatures for each in signature)
