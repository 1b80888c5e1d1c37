"""How many names in a file are known, and where they are lost."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, Final

from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.names import UNKNOWN
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.core.trees import add_children, nodes
from namecheck.interpreter.evaluation.observations import Recorder, join

_BUILTINS: Final = frozenset(dir(builtins))
_LONGEST: Final = 40
_SIGNS: Final[Mapping[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """An operator or a call that lost names of its operands: how often, and where first."""

    times: int
    filename: str
    line: int


@dataclass(frozen=True, slots=True, order=True)
class Limit:
    """A limit of the analysis that code reaches: what was too much, and where.

    `function` is empty at the top level of the file.
    """

    filename: str
    line: int
    function: str
    what: str


@dataclass(frozen=True, slots=True)
class Statistics:
    """The tensor expressions of some files: how many have all names known, some, or none.

    `limits` counts how often the code reaches each limit of the analysis.
    """

    full: int = 0
    part: int = 0
    none: int = 0
    losses: Mapping[str, Loss] = field(default_factory=dict)
    limits: Mapping[Limit, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of tensor expressions."""
        return self.full + self.part + self.none

    def joined(self, statistics: Statistics) -> Statistics:
        """The sum of both; a loss keeps the place of the first."""
        losses, limits = dict(self.losses), dict(self.limits)
        for limit, times in statistics.limits.items():
            limits[limit] = limits.get(limit, 0) + times
        for word, loss in statistics.losses.items():
            earlier = losses.get(word, Loss(0, loss.filename, loss.line))
            losses[word] = Loss(earlier.times + loss.times, earlier.filename, earlier.line)
        return Statistics(
            self.full + statistics.full,
            self.part + statistics.part,
            self.none + statistics.none,
            losses,
            limits,
        )

    def relocated(self, path_of: Callable[[str], str]) -> Statistics:
        """The same statistics with other paths: each file under the one that `path_of` returns."""
        losses = {
            word: replace(loss, filename=path_of(loss.filename))
            for word, loss in self.losses.items()
        }
        limits = {
            replace(limit, filename=path_of(limit.filename)): times
            for limit, times in self.limits.items()
        }
        return replace(self, losses=losses, limits=limits)

    def worst(self, count: int) -> list[tuple[str, Loss]]:
        """The calls that lost names most often."""
        return sorted(self.losses.items(), key=lambda item: (-item[1].times, item[0]))[:count]


def collect(recorder: Recorder, source: Source) -> Statistics:
    """The statistics of one file, from the records of its analysis."""
    by_node = {
        node: reduce(join, record.seen) if record.seen else UNKNOWN
        for node, record in recorder.records(source)
        if isinstance(node, ast.expr)
    }
    unknown = {
        node
        for node, record in recorder.records(source)
        if record.unknown and not record.operator and not record.findings
    }
    tensors = [value for value in by_node.values() if isinstance(value, Tensor)]
    full = sum(map(_is_full, tensors))
    none = sum(map(_is_empty, tensors))
    losses: dict[str, Loss] = {}
    for node, value in by_node.items():
        is_loss = not _is_full(value) if isinstance(value, Tensor) else node in unknown
        if is_loss and any(_is_full(by_node.get(part)) for part in _given(node)):
            word = _word(node, isinstance(value, Tensor))
            if word is not None:
                loss = losses.get(word, Loss(0, source.filename, source.span(node).line))
                losses[word] = Loss(loss.times + 1, loss.filename, loss.line)
    return Statistics(full, len(tensors) - full - none, none, losses, _limits(recorder))


def _limits(recorder: Recorder) -> dict[Limit, int]:
    """The limits that were reached, with the functions that the statements belong to."""
    limits: dict[Limit, int] = {}
    names_by_file: dict[str, dict[int, str]] = {}
    for (what, source, statement), times in recorder.limits.items():
        line = 1 if statement is None else source.span(statement).line
        if source.filename not in names_by_file:
            names_by_file[source.filename] = _functions(source)
        limit = Limit(source.filename, line, names_by_file[source.filename].get(line, ""), what)
        limits[limit] = limits.get(limit, 0) + times
    return limits


def _functions(source: Source) -> dict[int, str]:
    """The names of the innermost functions around the lines of a file."""
    name_of_line: dict[int, str] = {}
    for node in nodes(source.tree):  # outer ones first
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            name_of_line.update(dict.fromkeys(lines, node.name))
    return name_of_line


def _is_full(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dims.complete


def _is_empty(tensor: Tensor) -> bool:
    return not tensor.dims.complete and all(name is UNKNOWN for name in tensor.names)


def _given(expression: ast.expr) -> Iterator[ast.expr]:
    """The operands of an operator or a call."""
    if isinstance(expression, ast.BinOp):
        yield from (expression.left, expression.right)
    elif isinstance(expression, ast.Subscript):
        yield expression.value
    elif isinstance(expression, ast.Call):
        if isinstance(expression.func, ast.Attribute):
            yield expression.func.value
        yield from expression.args
        yield from (keyword.value for keyword in expression.keywords)


def _is_short(expression: ast.expr) -> bool:
    """Whether an expression is worth writing out: chains of calls may be very long."""
    every: list[ast.AST] = [expression]
    for node in every:  # it grows meanwhile
        if len(every) > _LONGEST:
            return False
        add_children(node, every)
    return True


def _word(expression: ast.expr, is_tensor: bool) -> str | None:
    """The name of an operator or a call; None for one that loses no tensor."""
    if isinstance(expression, ast.Call):
        if isinstance(expression.func, ast.Name) and expression.func.id in _BUILTINS:
            return None
        word = ast.unparse(expression.func) if _is_short(expression.func) else "(…)"
        if isinstance(expression.func, ast.Attribute) and (len(word) > _LONGEST or "(" in word):
            word = f"….{expression.func.attr}"
        return f"{word}()" if len(word) <= _LONGEST else f"{word[:_LONGEST]}…"
    if isinstance(expression, ast.BinOp) and is_tensor:
        return _SIGNS.get(type(expression.op))
    return "x[…]" if isinstance(expression, ast.Subscript) and is_tensor else None
