"""Writes annotations into the signatures of functions, on the lines where they stand.

No line is added or removed, so that a finding is where the code of the package has it.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

_IMPORTS: Final = "from typing import Annotated; from torch import Tensor; "
_PLAIN: Final = ("int", "float", "bool", "str")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class SignatureError(Exception):
    """There is no such function or parameter; the message says which."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """The text of a file with annotations, and the lines of the functions that have them."""

    text: str
    lines: frozenset[int]


@dataclass(frozen=True, slots=True, order=True)
class _Edit:
    """New text between two places in a file, counted in bytes."""

    begin: int
    end: int
    text: bytes


def annotated(text: str, signatures: Mapping[str, Mapping[str, str]]) -> Annotated:
    """A file with annotations: for each function (``Class.method``) those of its parameters.

    The annotation of a parameter, and of the result as ``return``, is a string of dims, which
    becomes ``Annotated[Tensor, "…"]``; ``, `` separates the parts of a tuple, ``?`` at the end
    means ``| None``, and ``int``, ``float``, ``bool`` and ``str`` are themselves. Raises
    `SignatureError` and `SyntaxError`.
    """
    tree = ast.parse(text)
    functions = dict(_functions(tree, ""))
    data = text.encode()
    starts = _line_starts(data)
    edits = [_import_edit(tree, starts)]
    lines: set[int] = set()
    for name, parameters in signatures.items():
        if name not in functions:
            raise SignatureError(f"no function {name}")
        function = functions[name]
        lines.update(range(function.lineno, (function.end_lineno or function.lineno) + 1))
        edits.extend(_edits(function, name, parameters, data, starts))
    for edit in sorted(edits, reverse=True):
        data = data[: edit.begin] + edit.text + data[edit.end :]
    return Annotated(data.decode(), frozenset(lines))


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    """The functions of a module with their dotted names; of equal names the last."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _functions(child, prefix)


def _import_edit(tree: ast.Module, starts: list[int]) -> _Edit:
    """The imports, before the first statement that may have imports before it."""
    for statement in tree.body:
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (is_future or is_docstring or hasattr(statement, "body")):
            place = starts[statement.lineno - 1] + statement.col_offset
            return _Edit(place, place, _IMPORTS.encode())
    raise SignatureError("no statement that imports could stand before")


def _edits(
    function: Function,
    name: str,
    parameters: Mapping[str, str],
    data: bytes,
    starts: list[int],
) -> Iterator[_Edit]:
    arguments = function.args
    nodes = {
        node.arg: node
        for node in (
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg)),
        )
    }
    for parameter, words in parameters.items():
        if parameter == "return":
            yield _result_edit(function, _annotation(words), data, starts)
        elif parameter not in nodes:
            raise SignatureError(f"no parameter {parameter} of {name}")
        else:
            node = nodes[parameter]
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            lines = data[begin:end].count(b"\n")  # of the annotation that is replaced
            text = f"{parameter}: {_annotation(words)}".encode() + b"\n" * lines
            yield _Edit(begin, end, text)


def _result_edit(function: Function, annotation: str, data: bytes, starts: list[int]) -> _Edit:
    if function.returns is not None:
        node = function.returns
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        if b"\n" in data[begin:end]:
            raise SignatureError(f"the result of {function.name} is declared on several lines")
        return _Edit(begin, end, annotation.encode())
    place = starts[function.lineno - 1] + function.col_offset
    colon = place + _colon(data[place:])
    return _Edit(colon, colon, f" -> {annotation}".encode())


def _colon(signature: bytes) -> int:
    """Where the colon stands that ends a signature, in bytes."""
    depth = 0
    starts = _line_starts(signature)
    for token in tokenize.tokenize(io.BytesIO(signature).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string == ":" and not depth:
                row, column = token.start
                return starts[row - 1] + len(token.line[:column].encode())
    raise SignatureError("a signature without an end")


def _line_starts(data: bytes) -> list[int]:
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _annotation(words: str) -> str:
    if ", " in words:
        return f"tuple[{', '.join(map(_annotation, words.split(', ')))}]"
    if words.endswith("?"):
        return f"{_annotation(words.removesuffix('?'))} | None"
    return words if words in _PLAIN else f'Annotated[Tensor, "{words}"]'
