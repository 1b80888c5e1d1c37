"""What the campaign does to a function: replace the text of one expression or target."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from tests.real_code.recall import mutations


class Wrongness(StrEnum):
    """What shows that a mutant is wrong."""

    CERTAIN = "certain"
    """It is wrong for every size above 1."""
    NAMES = "names"
    """It contradicts the author's own names: it is right only where two of the sizes are equal."""
    ROLE = "role"
    """Every size is right; only what the dims are for tells that it is wrong."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The text that takes the place of a node."""

    node: ast.expr
    text: str


def both(left: ast.expr, right: ast.expr) -> ast.expr:
    """A node that spans two nodes and what is between them."""
    whole = ast.copy_location(ast.Name("_"), left)
    whole.end_lineno, whole.end_col_offset = right.end_lineno, right.end_col_offset
    return whole


class Source:
    """The text of a file, by nodes of its tree, whose columns count bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bytes = text.encode()
        self._starts = [0, *accumulate(map(len, self._bytes.splitlines(keepends=True)))]

    def span(self, node: ast.expr) -> tuple[int, int]:
        """The bytes of a node: the first one, and the first one after it."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr) -> str:
        """The text of a node."""
        begin, end = self.span(node)
        return self._bytes[begin:end].decode()

    def changed(self, span: tuple[int, int], text: str) -> str:
        """The file with another text in a span."""
        return (self._bytes[: span[0]] + text.encode() + self._bytes[span[1] :]).decode()


@dataclass(frozen=True, slots=True)
class Mutation:
    """One way in which people get dims wrong.

    `silent` is the class of its mutants that run without an error, `replacements` yields its places
    in a function.
    """

    name: str
    silent: Wrongness
    replacements: Callable[[ast.AST, Source], Iterator[Replacement]]


def all_mutations() -> list[Mutation]:
    """The mutations of all files of the folder."""
    names = sorted(module.name for module in pkgutil.iter_modules(mutations.__path__))
    found = [importlib.import_module(f"{mutations.__name__}.{name}").MUTATION for name in names]
    assert all(isinstance(mutation, Mutation) for mutation in found)
    return found
