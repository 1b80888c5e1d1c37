"""Side effects: expressions without any, and calls that reshape a tensor in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, TypeAlias

from namecheck import operators
from namecheck.core.names import UNKNOWN, Answer
from namecheck.core.tensors import Tensor
from namecheck.interpreter.workspace.analysis import Application, Applications
from namecheck.migration.name_arguments import Rows

Applied: TypeAlias = Callable[[ast.expr], Applications]

_ACTS: Final = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def is_pure(expression: ast.expr, applied: Applied, rows: Rows, bound: Collection[str]) -> bool:
    """Whether an expression has no side effects: its only calls are of deterministic operators.

    `bound` are the names that the file binds itself: none of these is a builtin.
    """
    return all(
        _is_pure_call(inner, applied, rows, bound)
        if isinstance(inner, ast.Call)
        else not isinstance(inner, _ACTS)
        for inner in ast.walk(expression)
    )


def _is_pure_call(
    call_node: ast.Call, applied: Applied, rows: Rows, bound: Collection[str]
) -> bool:
    applications = applied(call_node)
    if not applications.each and _is_of_texts(call_node, bound):
        return True
    if not applications.each or applications.otherwise:
        return False
    if any(word.arg == "out" for word in call_node.keywords):
        return False
    return all(_only_computes(one.operator, rows) for one in applications.each)


_BUILTINS: Final = frozenset(
    {"dict", "enumerate", "int", "len", "list", "range", "reversed", "set", "str", "tuple", "zip"}
)
_OF_TEXTS: Final = frozenset({"capitalize", "format", "join", "lower", "split", "strip", "upper"})
# Methods of these names are not only those of texts: threads are joined.
_OF_OTHERS: Final = frozenset({"format", "join"})


def _is_of_texts(call_node: ast.Call, bound: Collection[str]) -> bool:
    """Whether it is a builtin, or a method of a text, that is common in code about names."""
    if isinstance(call_node.func, ast.Name):
        return call_node.func.id in _BUILTINS and call_node.func.id not in bound
    if not isinstance(call_node.func, ast.Attribute) or call_node.func.attr not in _OF_TEXTS:
        return False
    called_on = call_node.func.value
    if isinstance(called_on, ast.Call):
        return _is_of_texts(called_on, bound)
    if isinstance(called_on, (ast.Name, ast.Attribute)):
        return call_node.func.attr not in _OF_OTHERS and f".{call_node.func.attr}" not in bound
    text = isinstance(called_on, ast.Constant) and isinstance(called_on.value, str)
    return text or isinstance(called_on, ast.JoinedStr)


def bound_names(tree: ast.AST) -> frozenset[str]:
    """The names that a file binds anywhere, those of methods with a leading dot.

    They include all builtins where an import may rebind one.
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


def reshapes(application: Application, rows: Rows) -> bool:
    """Whether a call may change the dims of its tensor in place: `out` without names."""
    out = dict(application.keywords).get("out")
    if isinstance(out, Tensor) and _may_resize(out, application.result):
        return True
    key = operators.key_of(application.operator)
    row = operators.row_of(key, rows)
    in_place = key.endswith("_") and key != "rename_"
    return in_place and row is not None and row.inplace == "becomes"


def _may_resize(out: Tensor, result: Any) -> bool:
    """Whether the target may have other sizes from then on, as one without names may."""
    if out.dims.named() is Answer.YES or not isinstance(result, Tensor):
        return False
    sizes = [[dim.size for dim in each.prefix] for each in (out.dims, result.dims)]
    settled = out.dims.complete and result.dims.complete and UNKNOWN not in sizes[0]
    return not (settled and sizes[0] == sizes[1])
