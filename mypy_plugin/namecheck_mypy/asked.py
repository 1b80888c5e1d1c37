"""What a file asks for by ``reveal_type(x.names)``: the names of ``x`` that the engine knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import astuple

from namecheck.core.syntax import Refused
from namecheck.project import Entry
from namecheck_mypy.diagnostics import Diagnostic, names_of_place


def asks(data: bytes) -> bool:
    """Whether a file may ask for names."""
    return b"reveal_type" in data and b".names" in data


def names_asked(data: bytes, entry: Entry, overlay: Mapping[str, bytes]) -> Iterator[Diagnostic]:
    """The names of each tensor that a file asks for, where they are known."""
    from namecheck.project.file_check import reveal

    try:
        found = reveal(data, entry.path, entry.settings, overlay)
    except Refused:
        return
    known = {astuple(it.span): it.labels for it in found}
    for place in _places(data):
        labels = known.get(place)
        if labels is not None:
            yield names_of_place(labels, place)


def _places(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Where the tensors stand: each ``x`` in ``reveal_type(x.names)``."""
    for node in ast.walk(ast.parse(data)):
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        [given] = node.args
        if (
            _is_reveal_type(node.func)
            and isinstance(given, ast.Attribute)
            and given.attr == "names"
        ):
            x = given.value
            assert x.end_lineno is not None
            assert x.end_col_offset is not None
            yield x.lineno, x.col_offset + 1, x.end_lineno, x.end_col_offset + 1


def _is_reveal_type(called: ast.expr) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "reveal_type"
