"""The identity of a finding, which survives edits elsewhere, and the fingerprint of the identity.

The identity of a finding is its code, its file, the function around it, its expression, and which
of several findings of that code at such an expression in that function it is. An expression counts
by its syntax: neither its line, its layout nor its comments matter. So a finding keeps its
fingerprint when lines are inserted above it, when the file is formatted, and when another mistake
in the same statement is fixed.
"""

from __future__ import annotations

import ast
import bisect
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from namecheck.core import parsing
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.findings import Finding, Point

Reader: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the lines of a file by its name, none where it cannot be read."""

_BYTES: Final = 12
# Parts of a statement that are statements of their own, or that depend on the version of Python.
_BODIES: Final = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_VARYING: Final = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a finding: `syntax` is a digest, `occurrence` counts from 0.

    `path` has slashes on every system; `function` is qualified (``Net.forward``), and empty at the
    top level of a file.
    """

    path: str
    code: str
    function: str
    syntax: str
    occurrence: int

    @property
    def fingerprint(self) -> str:
        """The identity in 24 hexadecimal digits."""
        parts = [self.path, self.code, self.function, self.syntax, self.occurrence]
        return _digest(json.dumps(parts))


def identities(
    findings: Iterable[Finding], reader: Reader, path_of: Callable[[str], str]
) -> Mapping[Finding, Identity]:
    """The identity of each finding; `path_of` returns the path that it has for a file name."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.filename, []).append(finding)
    by_finding: dict[Finding, Identity] = {}
    for filename, of_file in by_file.items():
        outline, path = Outline(reader(filename)), path_of(filename)
        times: dict[Identity, int] = {}
        for finding in sorted(of_file, key=lambda finding: (finding.span, finding.code)):
            first = Identity(path, finding.code, *outline.around(finding), 0)
            by_finding[finding] = replace(first, occurrence=times.get(first, 0))
            times[first] = times.get(first, 0) + 1
    return by_finding


class Outline:
    """The functions, statements and expressions of a file; none where Python cannot parse it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._scopes: dict[int, str] = {}
        self._statements: list[ast.stmt] = []
        self._parents: dict[int, ast.stmt | None] = {}
        self._expressions: dict[tuple[Point, Point], ast.expr] = {}
        tree = _tree("\n".join(lines))
        if tree is not None:
            self._enter(tree)
        self._statements.sort(key=_start)

    @property
    def functions(self) -> frozenset[str]:
        """The qualified names of all functions and classes, and the empty one of the top level."""
        return frozenset(self._scopes.values()) | {""}

    def around(self, finding: Finding) -> tuple[str, str]:
        """The qualified name of the function around a finding, and a digest of its expression.

        Where a finding is at no expression its statement counts; and its text, if it is at a
        comment, or in a file that cannot be parsed.
        """
        start, end = self._point(finding.span.start), self._point(finding.span.end)
        line = start[0]
        innermost = self._innermost(start)
        scope = "" if innermost is None else self._scopes[id(innermost)]
        node = self._expressions.get((start, end), innermost)
        if node is None or (node is innermost and not _holds(innermost, start)):
            text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
            return scope, _digest("".join(text[finding.span.column - 1 :].split()))
        return scope, _digest("".join(_form(node)))

    def _point(self, point: Point) -> Point:
        """A position as `ast` has it: columns from 0, in bytes of UTF-8."""
        line, column = point
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        return line, len(text[: column - 1].encode("utf-8", "surrogatepass"))

    def _innermost(self, point: Point) -> ast.stmt | None:
        """The last statement that starts up to a point, and ends in its line or below."""
        index = bisect.bisect_right(self._statements, point, key=_start)
        # A statement before this one that is not around it ends where this one starts, or before.
        statement = self._statements[index - 1] if index else None
        while statement is not None and _end(statement)[0] < point[0]:
            statement = self._parents[id(statement)]
        return statement

    def _enter(self, tree: ast.Module) -> None:
        open_: list[tuple[ast.AST, str, ast.stmt | None]] = [(tree, "", None)]
        while open_:
            node, scope, parent = open_.pop()
            for child in ast.iter_child_nodes(node):
                inner = scope
                if isinstance(child, _SCOPES):
                    inner = f"{scope}.{child.name}" if scope else child.name
                if isinstance(child, ast.stmt):
                    self._statements.append(child)
                    self._scopes[id(child)] = inner
                    self._parents[id(child)] = parent
                if isinstance(child, ast.expr):
                    self._expressions.setdefault((_start(child), _end(child)), child)
                open_.append((child, inner, child if isinstance(child, ast.stmt) else parent))


def _tree(text: str) -> ast.Module | None:
    try:
        return parsing.module(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _start(syntax: ast.stmt | ast.expr) -> Point:
    decorators = getattr(syntax, "decorator_list", None)
    first = decorators[0] if decorators else syntax
    return first.lineno, first.col_offset


def _end(syntax: ast.stmt | ast.expr) -> Point:
    return syntax.end_lineno or syntax.lineno, syntax.end_col_offset or 0


def _holds(statement: ast.stmt, point: Point) -> bool:
    """Whether a point is in the code of a statement itself: not behind it, not in its body."""
    if point >= _end(statement):
        return False
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return True
    inner = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return point < (inner.lineno, inner.col_offset)


def _form(syntax: ast.stmt | ast.expr) -> Iterator[str]:
    """The syntax of an expression, or of a statement without its body, in all versions of Python.

    The name of a function or class is left out of its own head: it is in the qualified name.
    """
    omitted = _VARYING
    if isinstance(syntax, ast.stmt):
        omitted |= _BODIES
    if isinstance(syntax, _SCOPES):
        omitted |= {"name"}
    open_: list[object] = [syntax]
    while open_:
        item = open_.pop()
        if isinstance(item, _Punctuation):
            yield item
        elif isinstance(item, ast.AST):
            yield f"({type(item).__name__}"
            open_.append(_Punctuation(")"))
            for name in reversed(item._fields):
                value = getattr(item, name, None)
                if name not in omitted and value is not None and value != []:
                    open_ += [value, _Punctuation(f" {name}:")]
            omitted = _VARYING
        elif isinstance(item, list):
            open_ += reversed(item)
        else:
            yield f" {item!a}"


class _Punctuation(str):
    """A text between the nodes and constants of a form."""

    __slots__ = ()


def _digest(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_BYTES).hexdigest()
