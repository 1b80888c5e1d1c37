"""Uses of the named tensors that torch 2.13 has no more: NC701."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.core.syntax import Source, position
from namecheck.interpreter.evaluation.interpreter import Interpreter


def uses(interpreter: Interpreter) -> Iterator[Finding]:
    """One finding for a file that uses the API: at its first use, with how many there are."""
    if not interpreter.native:
        return
    places = [
        (position(node), node)
        for node in ast.walk(interpreter.source.tree)
        if node in interpreter.native and isinstance(node, (ast.expr, ast.stmt))
    ]
    if places:
        _, first = min(places, key=lambda place: place[0])
        yield _finding(interpreter.source, first, interpreter.native[first], len(places) - 1)


def _finding(source: Source, node: ast.expr | ast.stmt, operator: str, others: int) -> Finding:
    used = _spoken(operator)
    more = "" if not others else f", and at {others} more place{'s' if others > 1 else ''} here"
    return Finding(
        "NC701",
        f"torch 2.13 has no named tensors: {used} is used here{more}, and no "
        "`namecheck.install()` is seen.",
        source.filename,
        source.span(node),
        help="Call it where programs start, as `namecheck migrate` does; with `--to torch` that "
        "compiles the names away.",
    )


def _spoken(operator: str) -> str:
    if operator == "names=":
        return "setting `.names`"
    return f"`{operator}`" if operator in ("rename", "rename_") or "_" in operator else "`names=`"
