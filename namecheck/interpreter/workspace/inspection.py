"""The tensor expressions of a file and of its functions, for a report that shows them in place."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Span
from namecheck.core.names import UNKNOWN
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.core.trees import children, nodes
from namecheck.interpreter.evaluation.observations import Record, Recorder, join

TOP_LEVEL: Final = ""
"""The name under which the code outside of all functions is counted."""


class Knowledge(enum.Enum):
    """How many names of a tensor are known."""

    FULL = "full"
    PART = "part"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TensorExpression:
    """One expression that is a tensor, in some evaluation at least.

    `dims` are those of its different tensors, as `Tensor.brief` prints them; `attributes` are the
    dtype, the device and the layout that all of them have, as far as they are known. `always` says
    that it is a tensor in every evaluation: code elsewhere may pass anything. A `result` is what a
    statement assigns or returns.
    """

    span: Span
    dims: tuple[str, ...]
    attributes: tuple[str, ...]
    knowledge: Knowledge
    always: bool = True
    result: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """The numbers of tensor expressions with all names known, some, and none.

    An expression counts if it is a tensor in some evaluation, and has all names known if it has
    them in each of these; `Statistics` counts those that are tensors in every evaluation, and joins
    them.
    """

    full: int = 0
    part: int = 0
    none: int = 0

    @property
    def total(self) -> int:
        """The number of tensor expressions."""
        return self.full + self.part + self.none

    def joined(self, coverage: Coverage) -> Coverage:
        """The sum of both."""
        return Coverage(
            self.full + coverage.full, self.part + coverage.part, self.none + coverage.none
        )


@dataclass(frozen=True, slots=True)
class FunctionCoverage:
    """The coverage of one function, without the functions in it, under its qualified name."""

    name: str
    line: int
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class Inspection:
    """The tensor expressions of one file, by their places, and the coverage of its functions."""

    expressions: tuple[TensorExpression, ...] = ()
    functions: tuple[FunctionCoverage, ...] = ()

    @property
    def coverage(self) -> Coverage:
        """The coverage of the whole file."""
        return reduce(Coverage.joined, (one.coverage for one in self.functions), Coverage())


def inspect(recorder: Recorder, source: Source) -> Inspection:
    """The tensor expressions of one file, from the records of its analysis."""
    results = frozenset(map(source.span, _results(source.tree)))
    by_span: dict[Span, TensorExpression] = {}
    for node, record in recorder.records(source):
        if any(isinstance(value, Tensor) for value in record.seen):
            span = source.span(node)
            by_span.setdefault(span, _expression(record, span, span in results))
    expressions = tuple(sorted(by_span.values(), key=lambda one: one.span))
    return Inspection(expressions, tuple(_by_function(expressions, source)))


def knowledge_of(evaluated: Sequence[Tensor]) -> Knowledge:
    """How many names are known of the different tensors that an expression is."""
    if all(tensor.dims.complete for tensor in evaluated):
        return Knowledge.FULL
    names = [name for tensor in evaluated for name in tensor.names]
    unknown = all(name is UNKNOWN for name in names) and not any(t.dims.complete for t in evaluated)
    return Knowledge.NONE if unknown else Knowledge.PART


def _results(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """What the statements of a program assign and return."""
    for node in nodes(tree):
        if isinstance(node, ast.AugAssign):
            yield node
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return)) and node.value is not None:
            yield node.value


def _expression(evaluations: Record, span: Span, is_result: bool) -> TensorExpression:
    tensors = [value for value in evaluations.seen if isinstance(value, Tensor)]
    return TensorExpression(
        span,
        tuple(dict.fromkeys(tensor.brief() for tensor in tensors)),
        tuple(_attributes(reduce(join, tensors))),
        knowledge_of(tensors),
        len(tensors) == len(evaluations.seen) and not evaluations.unknown,
        is_result,
    )


def _attributes(tensor: Tensor) -> Iterator[str]:
    """The dtype, the device and the layout, as far as each is known and not the usual one."""
    if isinstance(tensor.dtype, str):
        yield tensor.dtype
    if isinstance(tensor.device, str):
        yield tensor.device
    if isinstance(tensor.layout, str) and tensor.layout != "strided":
        yield tensor.layout


def _by_function(
    expressions: Iterable[TensorExpression], source: Source
) -> Iterator[FunctionCoverage]:
    """The coverage of the top level and of each function that has tensor expressions."""
    functions = [(TOP_LEVEL, 1, len(source.lines)), *_functions(source.tree, "")]
    innermost: dict[int, int] = {}  # inner functions come later
    for number, (_, first, last) in enumerate(functions):
        innermost.update(dict.fromkeys(range(first, last + 1), number))
    coverages = [Coverage()] * len(functions)
    for expression in expressions:
        number = innermost.get(expression.span.line, 0)
        coverages[number] = coverages[number].joined(_ONE[expression.knowledge])
    for (name, line, _), coverage in zip(functions, coverages, strict=True):
        if coverage.total:
            yield FunctionCoverage(name, line, coverage)


_ONE: Final = {
    Knowledge.FULL: Coverage(full=1),
    Knowledge.PART: Coverage(part=1),
    Knowledge.NONE: Coverage(none=1),
}


def _functions(tree: ast.Module, prefix: str) -> Iterator[tuple[str, int, int]]:
    """The qualified name, the first and the last line of each function; outer ones first."""
    pending: list[tuple[ast.AST, str]] = [(tree, prefix)]
    while pending:
        node, qualifier = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = f"{qualifier}{node.name}"
            yield name, node.lineno, node.end_lineno or node.lineno
            qualifier = f"{name}.<locals>."
        elif isinstance(node, ast.ClassDef):
            qualifier = f"{qualifier}{node.name}."
        pending += [(child, qualifier) for child in reversed(children(node))]
