"""What makes a finding the same one after an edit: its identity, and the fingerprint of that.

The identity of a finding is its code, its file, the function around it, the statement that it is
in, and which of several findings of that code in that statement it is. A statement counts by its
syntax: neither its line, its layout nor its comments matter. So a finding keeps its fingerprint
when lines are inserted above it and when the file is formatted.
"""

from __future__ import annotations

import ast
import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

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
    """What makes a finding the same one: `statement` is a digest, `occurrence` counts from 0.

    `path` has slashes on every system; `function` is qualified (``Net.forward``), and empty at the
    top level of a file.
    """

    path: str
    code: str
    function: str
    statement: str
    occurrence: int

    @property
    def fingerprint(self) -> str:
        """The identity in 24 hexadecimal digits."""
        parts = [self.path, self.code, self.function, self.statement, self.occurrence]
        return _digest(json.dumps(parts))


def identities(
    findings: Iterable[Finding], reader: Reader, path_of: Callable[[str], str]
) -> Mapping[Finding, Identity]:
    """The identity of each finding; `path_of` returns the path that it has for a file name."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.filename, []).append(finding)
    found: dict[Finding, Identity] = {}
    for filename, of_file in by_file.items():
        outline, path = Outline(reader(filename)), path_of(filename)
        times: dict[Identity, int] = {}
        for finding in sorted(of_file, key=lambda finding: (finding.span, finding.code)):
            first = Identity(path, finding.code, *outline.around(finding), 0)
            found[finding] = replace(first, occurrence=times.get(first, 0))
            times[first] = times.get(first, 0) + 1
    return found


class Outline:
    """The functions and statements of a file; without any where Python cannot parse it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._scopes: dict[int, str] = {}
        self._statements: list[ast.stmt] = []
        tree = _tree("\n".join(lines))
        if tree is not None:
            self._enter(tree)

    @property
    def functions(self) -> frozenset[str]:
        """The qualified names of all functions and classes, and the empty one of the top level."""
        return frozenset(self._scopes.values()) | {""}

    def around(self, finding: Finding) -> tuple[str, str]:
        """The qualified name of the function around a finding, and a digest of its statement.

        The statement of a comment, and of a place in a file that cannot be parsed, is its text.
        """
        line, column = finding.span.start
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        point = line, len(text[: column - 1].encode("utf-8", "surrogatepass"))
        around = (
            each for each in self._statements if _start(each) <= point and line <= _end(each)[0]
        )
        innermost = max(around, key=_start, default=None)
        scope = "" if innermost is None else self._scopes[id(innermost)]
        if innermost is None or not _holds(innermost, point):
            return scope, _digest("".join(text[column - 1 :].split()))
        return scope, _digest("".join(_form(innermost)))

    def _enter(self, tree: ast.Module) -> None:
        open_: list[tuple[ast.AST, str]] = [(tree, "")]
        while open_:
            node, scope = open_.pop()
            for child in ast.iter_child_nodes(node):
                inner = scope
                if isinstance(child, _SCOPES):
                    inner = f"{scope}.{child.name}" if scope else child.name
                if isinstance(child, ast.stmt):
                    self._statements.append(child)
                    self._scopes[id(child)] = inner
                if not isinstance(child, ast.expr):
                    open_.append((child, inner))


def _tree(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _start(statement: ast.stmt) -> Point:
    decorators = getattr(statement, "decorator_list", None)
    first = decorators[0] if decorators else statement
    return first.lineno, first.col_offset


def _end(statement: ast.stmt) -> Point:
    return statement.end_lineno or statement.lineno, statement.end_col_offset or 0


def _holds(statement: ast.stmt, point: Point) -> bool:
    """Whether a point is in the code of a statement itself: not behind it, not in its body."""
    if point >= _end(statement):
        return False
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return True
    inner = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return point < (inner.lineno, inner.col_offset)


def _form(statement: ast.stmt) -> Iterator[str]:
    """The syntax of a statement without its body, alike in all versions of Python.

    The name of a function or class is left out of its own head: it is in the qualified name.
    """
    omitted = _VARYING | _BODIES
    if isinstance(statement, _SCOPES):
        omitted |= {"name"}
    open_: list[object] = [statement]
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
