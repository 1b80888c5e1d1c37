"""Which variables nothing reads any more: paths that differ in these alone are joined.

A branch often binds a variable for its own use. Behind it, all that follows would be run on the
path through the branch and again on the one around it, and each further option doubles the paths.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.core.trees import children, nodes
from namecheck.interpreter.domain import scopes
from namecheck.interpreter.evaluation.frames import Frame

_Position: TypeAlias = tuple[int, int]
# After the whole function.
_END: Final[_Position] = (1 << 62, 0)

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
# What runs later than where it stands, and so may read a variable at any time.
_LATER: Final = (*_FUNCTIONS, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
# What reads variables that are not written there.
_READERS: Final = frozenset({"locals", "vars", "dir", "eval", "exec"})


@dataclass(frozen=True, slots=True)
class _Reads:
    """The last place where a function reads each of its variables, and the outermost loops."""

    last_reads: dict[str, _Position]
    loops: tuple[tuple[ast.stmt, _Position, _Position], ...]


def unread_after(
    statement: ast.stmt, frame: Frame, *, is_round: bool = False
) -> frozenset[Hashable]:
    """The cells of the variables of a frame that nothing reads after a statement.

    With `is_round` not the whole loop ends there, but one of its rounds.
    """
    environment = frame.environment
    function_node = environment.scope
    if not isinstance(function_node, _FUNCTIONS):
        return frozenset()
    number = environment.number
    return frozenset((number, word) for word in _unread_words(function_node, statement, is_round))


@lru_cache(maxsize=1024)
def _unread_words(
    function_node: ast.FunctionDef | ast.AsyncFunctionDef, statement: ast.stmt, is_round: bool
) -> frozenset[str]:
    reads = _reads_of(function_node)
    if reads is None:
        return frozenset()
    start, end = _start(statement), _end(statement)
    for loop, loop_start, loop_end in reads.loops:
        if loop_start <= start and end <= loop_end and (loop is not statement or is_round):
            end = loop_start  # all that the loop reads may be read in its next round
    return frozenset(
        word
        for word in scopes.examine(function_node).local
        if word not in reads.last_reads or reads.last_reads[word] < end
    )


@lru_cache(maxsize=1024)
def _reads_of(function_node: ast.FunctionDef | ast.AsyncFunctionDef) -> _Reads | None:
    """The reads in a function; None where it may read all variables."""
    # A call of `super()` reads the first parameter.
    first = scopes.parameters(function_node.args)[:1]
    last_reads: dict[str, _Position] = {parameter.arg: _END for parameter in first}
    loops: list[tuple[ast.stmt, _Position, _Position]] = []
    for node, is_in_loop in _in_order(function_node):
        if isinstance(node, ast.Name) and node.id in _READERS:
            return None
        if isinstance(node, _LATER):
            for inner in nodes(node):
                if isinstance(inner, ast.Name):
                    last_reads[inner.id] = _END
                elif isinstance(inner, ast.Nonlocal):
                    last_reads.update(dict.fromkeys(inner.names, _END))
        elif isinstance(node, ast.AugAssign):
            for inner in nodes(node.target):
                if isinstance(inner, ast.Name):
                    last_reads[inner.id] = max(last_reads.get(inner.id, _start(node)), _start(node))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            last_reads[node.id] = max(last_reads.get(node.id, _start(node)), _start(node))
        elif isinstance(node, _LOOPS) and not is_in_loop:
            loops.append((node, _start(node), _end(node)))
    return _Reads(last_reads, tuple(loops))


def _in_order(
    function_node: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes in the body of a function_node, and whether each is in a loop.

    What runs later is not entered.
    """
    stack: list[tuple[ast.AST, bool]] = [(statement, False) for statement in function_node.body]
    while stack:
        node, is_in_loop = stack.pop()
        yield node, is_in_loop
        if not isinstance(node, _LATER):
            inside = is_in_loop or isinstance(node, _LOOPS)
            stack += [(child, inside) for child in children(node)]


def _start(positioned: ast.stmt | ast.expr) -> _Position:
    return positioned.lineno, positioned.col_offset


def _end(positioned: ast.stmt | ast.expr) -> _Position:
    line, column = positioned.end_lineno, positioned.end_col_offset
    return (positioned.lineno if line is None else line), (1 << 30 if column is None else column)
