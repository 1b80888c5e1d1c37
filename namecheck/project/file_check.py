"""One file: read, parsed, analysed, its findings suppressed and selected.

A fault in the analysis of a file becomes the finding NC005 of that file.
"""

from __future__ import annotations

import ast
import os
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from namecheck import interpreter, syntax
from namecheck.findings import Finding, Span, resolve
from namecheck.interpreter import Reveal
from namecheck.settings import Settings
from namecheck.syntax import Refused, Source, Suppression

TOP: Final = Span(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One file to check; `refusal` says why it can not even be opened."""

    path: str
    settings: Settings
    size: int = 0
    explicit: bool = False
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file."""

    findings: tuple[Finding, ...] = ()
    parsed: bool = True


def reason_of(error: OSError) -> str:
    """What the operating system says."""
    return error.strerror or str(error)


def check_file(entry: Entry, parses: bool) -> Outcome:
    """Check one file; `parses` says that it is parsed even if it names no dimension."""
    try:
        if entry.refusal is not None:
            return _refused(_unreadable(entry.path, entry.refusal), entry.settings)
        with open(entry.path, "rb", buffering=0) as file:
            data = file.readall()
    except OSError as error:
        return _refused(_unreadable(entry.path, reason_of(error)), entry.settings)
    return check_bytes(data, entry.path, entry.settings, parses)


def _unreadable(path: str, reason: str) -> Finding:
    return Finding(
        "NC002",
        f"It cannot be read: {reason}.",
        path,
        TOP,
        help="Mend its permissions or its link, or leave it out with `exclude`.",
    )


def _refused(finding: Finding, found: Settings) -> Outcome:
    selected = finding.code in found.selected_in(finding.filename)
    return Outcome((finding,) if selected else ())


def check_bytes(data: bytes, path: str, found: Settings, parses: bool = True) -> Outcome:
    """Check the contents of one file."""
    names = syntax.names_something(data)
    if not (names or parses or b"namecheck:" in data):
        return Outcome(parsed=False)
    try:
        source = syntax.parse(data, path)
    except Refused as refused:
        return _refused(refused.finding, found)
    analysed = analyse(source, found).findings if names else ()
    selected = found.selected_in(path)
    kept = [finding for finding in dict.fromkeys(analysed) if finding.code in selected]
    if source.suppressions:
        kept = _suppress(source, kept, selected)
    return Outcome(tuple(sorted(kept, key=lambda finding: (finding.span, finding.code))))


def reveal(data: bytes, path: str, found: Settings) -> tuple[Reveal, ...]:
    """The dims of every tensor-valued expression of a file; raises `Refused`."""
    analysis = analyse(syntax.parse(data, path), found, reveal=True)
    for finding in analysis.findings:
        if finding.code in ("NC004", "NC005"):
            raise Refused(finding)
    return analysis.reveals


def analyse(source: Source, found: Settings, *, reveal: bool = False) -> interpreter.Analysis:
    """What the interpreter finds out about one file; its own faults become findings."""
    rows = found.rows()
    try:
        return interpreter.check(
            source,
            semantics=found.semantics,
            rows=rows,
            reveal=reveal,
            inferences=found.inferences,
        )
    except RecursionError as error:
        if _depth(source.tree) < _DEEP:
            return _fault(source, error)
        finding = syntax.too_deep(source.filename, TOP, "the analysis runs out of stack")
        return interpreter.Analysis((finding,), ())
    except Exception as error:
        return _fault(source, error)


_DEEP: Final = 100


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _fault(source: Source, error: Exception) -> interpreter.Analysis:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return interpreter.Analysis((fault(source.filename, f"{text} (at {where})"),), ())


def fault(filename: str, what: str) -> Finding:
    """The finding NC005, for a file on which namecheck itself fails."""
    return Finding(
        "NC005",
        f"namecheck failed on this file: {what}.",
        filename,
        TOP,
        help="This is a fault of namecheck; the file was not checked. Please report it.",
    )


def _suppress(source: Source, found: list[Finding], selected: frozenset[str]) -> list[Finding]:
    used: set[tuple[Suppression, str | None]] = set()
    left = []
    for finding in found:
        first, last = source.statement_lines(finding.span.line)
        lines = {0, first, last, *range(finding.span.line, finding.span.end_line + 1)}
        covering = {
            (comment, word)
            for comment in source.suppressions
            if comment.line in lines
            for word in _means(comment, finding.code)
        }
        used |= covering
        if not covering or finding.code == "NC005":
            left.append(finding)
    if not any(finding.code in ("NC004", "NC005") for finding in found):
        left += [item for item in _idle(source, used, selected) if item.code in selected]
    return left


def _means(comment: Suppression, code: str) -> Iterator[str | None]:
    if comment.words is None:
        yield None
    else:
        yield from (word for word in comment.words if resolve(word) == code)


def _idle(
    source: Source, used: set[tuple[Suppression, str | None]], selected: frozenset[str]
) -> Iterator[Finding]:
    for comment in source.suppressions:
        if comment.words is None:
            if (comment, None) not in used:
                yield _unused(source, comment, "This comment suppresses nothing.")
            continue
        for word in dict.fromkeys(comment.words):
            code = resolve(word)
            if code is None:
                yield Finding(
                    "NC011",
                    f"There is no code '{word}'.",
                    source.filename,
                    comment.span,
                    help="`namecheck rule` lists all codes and their names.",
                )
            elif (comment, word) not in used and code in selected:
                yield _unused(source, comment, f"There is no {word} here to suppress.")
        if not comment.words:
            yield _unused(source, comment, "No code stands in the brackets.")


def _unused(source: Source, comment: Suppression, message: str) -> Finding:
    return Finding("NC010", message, source.filename, comment.span, help="Take it out.")
