"""Answers ``reveal_type(x.names)``: the names of ``x`` that namecheck has inferred."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import astuple

from namecheck.core.syntax import Refused
from namecheck.core.trees import last_word
from namecheck.project import Entry
from namecheck_mypy.diagnostics import Diagnostic, names_at


def asks(data: bytes) -> bool:
    """Whether a file may contain ``reveal_type(x.names)``."""
    return b"reveal_type" in data and b".names" in data


def names_asked(data: bytes, entry: Entry, overlay: Mapping[str, bytes]) -> Iterator[Diagnostic]:
    """The names of each tensor for which a file reveals them, if they are known."""
    from namecheck.project.file_check import reveal

    try:
        revelations = reveal(data, entry.path, entry.settings, overlay)
    except Refused:
        return
    labels_by_span = {astuple(it.span): it.labels for it in revelations}
    for span in _spans(data):
        labels = labels_by_span.get(span)
        if labels is not None:
            yield names_at(labels, span)


def _spans(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The spans of the tensors: each ``x`` in ``reveal_type(x.names)``."""
    for node in ast.walk(ast.parse(data)):
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        [argument] = node.args
        if (
            _is_reveal_type(node.func)
            and isinstance(argument, ast.Attribute)
            and argument.attr == "names"
        ):
            x = argument.value
            assert x.end_lineno is not None
            assert x.end_col_offset is not None
            yield x.lineno, x.col_offset + 1, x.end_lineno, x.end_col_offset + 1


def _is_reveal_type(called: ast.expr) -> bool:
    return last_word(called) == "reveal_type"
