"""Expressions that do nothing but give a value, so that nothing is lost where they go."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from namecheck import operators
from namecheck.interpreter import Applications
from namecheck.rewrite.plain_calls import Becomes, Rows

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
    for key in becomes.arguments:
        if isinstance(key, str):
            yield from (words[key],) if key in words else ()
        elif key < len(node.args):
            yield node.args[key]


def is_idle(node: ast.expr, applied: Applied, rows: Rows) -> bool:
    """Whether an expression only gives a value: no call but of operators that draw nothing."""
    return all(
        _is_idle_call(inner, applied, rows)
        if isinstance(inner, ast.Call)
        else not isinstance(inner, _ACTS)
        for inner in ast.walk(node)
    )


def _is_idle_call(node: ast.Call, applied: Applied, rows: Rows) -> bool:
    seen = applied(node)
    if not seen.each and _is_of_texts(node):
        return True
    if not seen.each or seen.otherwise or any(word.arg == "out" for word in node.keywords):
        return False
    return all(_only_computes(one.operator, rows) for one in seen.each)


_BUILTINS: Final = frozenset(
    {"dict", "enumerate", "int", "len", "list", "range", "reversed", "set", "str", "tuple", "zip"}
)
_OF_TEXTS: Final = frozenset({"capitalize", "format", "join", "lower", "split", "strip", "upper"})


def _is_of_texts(node: ast.Call) -> bool:
    """A builtin, or a method of texts, that names are often written with."""
    if isinstance(node.func, ast.Name):
        return node.func.id in _BUILTINS
    return isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TEXTS


def _only_computes(operator: str, rows: Rows) -> bool:
    """Whether an operator neither writes to its input nor draws random numbers."""
    key = operators.key_of(operator)
    row = operators.row_of(key, rows)
    if row is None or key.endswith("_") or "dropout" in key.lower():
        return False
    return not any(each.name == "generator" for signature in row.signatures for each in signature)
