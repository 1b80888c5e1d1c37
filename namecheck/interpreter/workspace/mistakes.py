"""Merges findings, so that one mistake is reported once.

A mistake may show at several places of one statement: in sizes where a call fixes them, in names
where only annotations do, and differently in a second run of a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from namecheck.core.findings import Finding, Span, is_of_sizes
from namecheck.core.syntax import Source
from namecheck.interpreter.evaluation.interpreter import Interpreter

_OF_NAMES = "NC1"

Key: TypeAlias = tuple[str, Span, str]
Statement: TypeAlias = tuple[str, tuple[int, int]]


def merged_findings(interpreter: Interpreter) -> Iterator[Finding]:
    """The findings, but for each statement only the first about the same names.

    Findings about names come before those about sizes.
    """
    if not interpreter.findings.entries:
        return
    sources = {source.filename: source for source in interpreter.context.files.sources.values()}
    by_statement: dict[Statement, dict[Key, frozenset[str]]] = {}
    for key, finding in sorted(interpreter.findings.entries.items(), key=_vagueness):
        names = interpreter.findings.names.get(key)
        if interpreter.findings.judged.is_uncertain(key, names or ()):
            continue
        if names is None:
            yield finding  # a note
            continue
        by_key = by_statement.setdefault(_statement(key, sources), {})
        if not any(not names or not others or names & others for others in by_key.values()):
            by_key[key] = names
            yield finding


def _vagueness(pair: tuple[Key, Finding]) -> tuple[bool, bool]:
    code = pair[1].code
    return is_of_sizes(code), not code.startswith(_OF_NAMES)


def _statement(key: Key, by_filename: dict[str, Source]) -> Statement:
    filename, span, _ = key
    source = by_filename.get(filename)
    lines = (span.line, span.line) if source is None else source.statement_lines(span.line)
    return filename, lines
