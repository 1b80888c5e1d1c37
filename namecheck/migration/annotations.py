"""Annotations ``Annotated[Tensor, "N C"]`` that replace names, with the imports they need."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence

from namecheck.core.dataclasses import dataclass
from namecheck.core.syntax import Source
from namecheck.editing.edits import Edit
from namecheck.editing.imports import insertion_point, leading_imports
from namecheck.editing.outline import Outline, Scope

Names = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class _Note:
    """A place that can state the dims of a variable; `whole`: only the annotation remains of it."""

    statement: ast.stmt
    target: ast.expr
    names: Names
    whole: bool


class Annotations:
    """The annotations to add to one file: one for each target in a scope."""

    def __init__(self, source: Source, outline: Outline, wanted: bool) -> None:
        self._source = source
        self._outline = outline
        self._notes: dict[tuple[Scope, str], _Note] = {}
        self._taken = set(self._annotated())
        self._parameters: list[tuple[ast.arg, Names]] = []
        words = _vocabulary(source.tree) if wanted else ("", "", ())
        self._annotated_name, self._tensor_name, self._needed = words

    def _annotated(self) -> Iterator[tuple[Scope, str]]:
        for statement in self._outline.statements:
            scope = self._outline.scopes[statement]
            if isinstance(statement, ast.AnnAssign):
                yield scope, ast.unparse(statement.target)
            if isinstance(statement, (ast.Global, ast.Nonlocal)):
                for name in statement.names:
                    yield scope, name

    def assignment(
        self, statement: ast.stmt, assignee: ast.expr, names: Names, *, whole: bool
    ) -> bool:
        """Annotate the variable of an assignment, if that can be done."""
        scope = self._outline.scopes[statement]
        identity = scope, ast.unparse(assignee)
        if not self._may_annotate(statement, assignee, identity):
            return False
        self._notes[identity] = _Note(statement, assignee, names, whole)
        return True

    def _may_annotate(
        self, statement: ast.stmt, assignee: ast.expr, identity: tuple[Scope, str]
    ) -> bool:
        scope, _ = identity
        if isinstance(scope, ast.ClassDef) or isinstance(statement, ast.AnnAssign):
            return False
        if identity in self._notes or identity in self._taken or not self._annotated_name:
            return False
        if isinstance(assignee, ast.Attribute):
            return isinstance(assignee.value, ast.Name)
        if not isinstance(assignee, ast.Name):
            return False
        return not _is_annotated(scope, assignee.id)

    def assertion(self, statement: ast.stmt, assignee: ast.expr, names: Names) -> None:
        """Annotate the parameter in an assertion, if it has no annotation."""
        scope = self._outline.scopes[statement]
        if not isinstance(assignee, ast.Name) or not any(names) or not self._annotated_name:
            return
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for arg in _parameters(scope):
                if arg.arg == assignee.id and not _is_bound(scope, assignee.id, statement):
                    self._parameters.append((arg, names))

    def edits(self) -> Iterator[Edit]:
        """The edits that annotate, and import what the annotations need."""
        count = 0
        for note in self._notes.values():
            span = self._source.span(note.target)
            yield Edit(span.tail(0), f": {self._text(note.names)}")
            count += 1
            if note.whole:
                value = self._source.span(_value(note.statement))
                yield Edit(value, self._source.segment(span))
        for arg, names in self._parameters:
            span = self._source.span(arg)
            if arg.annotation is None:
                yield Edit(span.tail(0), f": {self._text(names)}")
                count += 1
            elif ast.unparse(arg.annotation) in ("Tensor", "torch.Tensor"):
                inner = self._source.span(arg.annotation)
                text = self._text(names, self._source.segment(inner))
                yield Edit(inner, text)
                count += 1
        if count and self._needed:
            text = "".join(f"{line}\n" for line in self._needed)
            yield Edit(insertion_point(self._source), text + ("\n" * self._is_apart()))

    def _is_apart(self) -> bool:
        """Whether the following imports belong to another section than that of `typing`."""
        first = next(iter(leading_imports(self._source.tree)), None)
        if isinstance(first, ast.ImportFrom):
            return (first.module or "").split(".")[0] not in sys.stdlib_module_names
        return first is None or first.names[0].name.split(".")[0] not in sys.stdlib_module_names

    def _text(self, names: Names, tensor_text: str | None = None) -> str:
        dims = " ".join(name or "_" for name in names)
        return f'{self._annotated_name}[{tensor_text or self._tensor_name}, "{dims}"]'


def _value(statement: ast.stmt) -> ast.expr:
    assert isinstance(statement, ast.Assign)
    return statement.value


def _parameters(function_node: ast.FunctionDef | ast.AsyncFunctionDef) -> Sequence[ast.arg]:
    args = function_node.args
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def _is_annotated(scope: Scope, name: str) -> bool:
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return any(arg.arg == name and arg.annotation is not None for arg in _parameters(scope))


def _is_bound(scope: Scope, name: str, statement: ast.stmt) -> bool:
    """Whether a statement may see another value than the one that a parameter was passed."""
    return statement not in scope.body or any(
        isinstance(node, ast.Name)
        and node.id == name
        and not isinstance(node.ctx, ast.Load)
        and node.lineno < statement.lineno
        for node in ast.walk(scope)
    )


def _vocabulary(tree: ast.Module) -> tuple[str, str, tuple[str, ...]]:
    """The local names of ``Annotated`` and ``Tensor`` in a file, and the imports that it lacks.

    None where ``Annotated`` has another meaning there.
    """
    annotated = tensor = ""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                name = alias.asname or alias.name
                if node.module in ("typing", "typing_extensions") and alias.name == "Annotated":
                    annotated = name
                elif node.module == "torch" and alias.name == "Tensor":
                    tensor = name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch":
                    tensor = tensor or f"{alias.asname or 'torch'}.Tensor"
                elif alias.name == "typing":
                    annotated = annotated or f"{alias.asname or 'typing'}.Annotated"
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if (not annotated and "Annotated" in bound) or (not tensor and "Tensor" in bound):
        return "", "", ()
    needed = [] if annotated else ["from typing import Annotated"]
    needed += [] if tensor else ["from torch import Tensor"]
    return annotated or "Annotated", tensor or "Tensor", tuple(needed)
