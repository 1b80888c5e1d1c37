"""Abstract values of arguments and results, and the report if they violate a contract."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias

from namecheck.annotations.declarations import Value
from namecheck.core import syntax
from namecheck.core.dims import OPEN, Dims
from namecheck.core.findings import Finding, Place, Span
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.runtime.core import call_sites, reporting, tensor_names
from namecheck.runtime.core.patch_table import TABLE


def abstract_value(value: Any) -> Value:
    """The abstract value of an argument or a result; anything with a shape is a tensor."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return tuple(map(abstract_value, value))
    if isinstance(value, Mapping):
        return {str(key): abstract_value(each) for key, each in value.items()}
    try:
        shape = getattr(value, "shape", None)
    except RuntimeError:
        return Tensor(OPEN)  # a nested tensor
    if not isinstance(shape, tuple):
        return UNKNOWN
    names = getattr(value, tensor_names.ATTRIBUTE, None)
    if names is None or len(names) != len(shape):
        names = (tensor_names.UNKNOWN_NAME if names else None,) * len(shape)
    sizes = [size if type(size) is int else UNKNOWN for size in shape]
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    device = str(getattr(value, "device", ""))
    dims = Dims.of(*tensor_names.lift(names), sizes=sizes)
    return Tensor(dims, dtype or UNKNOWN, device or UNKNOWN)


def has_constant_sizes(value: Value) -> bool:
    """Whether all sizes are numbers; the symbolic sizes of a tracer are useless in a memo."""
    if isinstance(value, tuple):
        return all(map(has_constant_sizes, value))
    if isinstance(value, Mapping):
        return all(map(has_constant_sizes, value.values()))
    return not isinstance(value, Tensor) or UNKNOWN not in value.dims.sizes


def report_arguments(contradiction: Contradiction, function: FunctionType) -> None:
    """Report a call with wrong arguments, at the position of the call."""
    definition = _definition(function.__code__)
    place = _call_of_user("")
    if place is None:
        place = Place(definition.filename, definition.head, "")
    _report(contradiction, place, [definition.declared])


def report_result(contradiction: Contradiction, function: FunctionType) -> None:
    """Report a wrong result, at the ``return`` if there is exactly one."""
    definition = _definition(function.__code__)
    place = Place(definition.filename, definition.returned, "")
    call = _call_of_user("the call that returned it")
    _report(contradiction, place, [definition.declared, *([call] if call else [])])


def _call_of_user(message: str) -> Place | None:
    """The position of the running call of the user's program."""
    expression = call_sites.user_expression()
    if expression is None:
        return None
    return Place(expression.filename, call_sites.span_of(expression), message)


def _report(contradiction: Contradiction, place: Place, related: Sequence[Place]) -> None:
    finding = Finding(
        contradiction.code,
        contradiction.message,
        place.filename,
        place.span,
        contradiction.help,
        related=tuple(related),
        error=contradiction.error,
    )
    reporting.handle(finding, TABLE.default if TABLE.installed or TABLE.hosted else "error")


@dataclass(frozen=True, slots=True)
class Definition:
    """The position of a function: its head, and the expression of its result."""

    name: str
    filename: str
    head: Span
    returned: Span

    @property
    def declared(self) -> Place:
        """The head, as the place where the annotations are."""
        return Place(self.filename, self.head, f"{self.name}() is declared here")


@lru_cache(maxsize=1024)
def _definition(code: CodeType) -> Definition:
    """The definition of a code object; only its first line if the source is not available."""
    line = Span(code.co_firstlineno, 1, code.co_firstlineno, 1)
    filename = code.co_filename
    source = _source(filename)
    node = None if source is None else _node(source, code)
    if source is None or node is None:
        return Definition(code.co_name, filename, line, line)
    span = source.span(node)
    keyword = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    head = Span(span.line, span.column, span.line, span.column + len(keyword) + len(node.name))
    returns = [*_returns(node.body)]
    if len(returns) == 1:
        returned = source.span(returns[0])
    else:
        returned = source.span(node.returns) if node.returns else head
    return Definition(node.name, filename, head, returned)


@lru_cache(maxsize=16)
def _source(filename: str) -> Source | None:
    text = "".join(linecache.getlines(filename))
    try:
        return syntax.parse(text.encode(), filename) if text else None
    except syntax.Refused:
        return None


_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _node(source: Source, code: CodeType) -> _Function | None:
    """The definition whose first line, decorators included, is that of the code object."""
    for node in ast.walk(source.tree):
        if isinstance(node, _Function) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _returns(body: Sequence[ast.AST]) -> Iterator[ast.Return]:
    """The return statements of a function, without those of inner functions."""
    for node in body:
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, _SCOPES):
            yield from _returns([*ast.iter_child_nodes(node)])
