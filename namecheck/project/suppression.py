"""Suppression comments: the findings that they suppress, and comments that suppress nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Facts, Finding, resolve
from namecheck.core.syntax import Source, Suppression


@dataclass(frozen=True, slots=True)
class Comments:
    """The suppression comments of a file, and the lines of its statements."""

    filename: str
    suppressions: tuple[Suppression, ...] = ()
    statements: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Source) -> Comments:
        """The comments of a file."""
        if not source.suppressions:
            return cls(source.filename)
        lines = range(1, len(source.lines) + 1)
        statements = {line: source.statement_lines(line) for line in lines}
        return cls(source.filename, source.suppressions, statements)


def suppress(
    comments: Comments, findings: Sequence[Finding], selected: frozenset[str]
) -> list[Finding]:
    """The findings that no comment suppresses, plus one for each unused comment."""
    used: set[tuple[Suppression, str | None]] = set()
    remaining = []
    comments_of_line: dict[int, list[Suppression]] = {}
    for comment in comments.suppressions:
        comments_of_line.setdefault(comment.line, []).append(comment)
    for finding in findings:
        first = finding.span.line
        first, last = comments.statements.get(first, (first, first))
        lines = {0, first, last, *range(finding.span.line, finding.span.end_line + 1)}
        covering = {
            (comment, word)
            for line in lines
            for comment in comments_of_line.get(line, ())
            for word in _means(comment, finding.code)
        }
        used |= covering
        if not covering or finding.code == "NC005":
            remaining.append(finding)
    if not any(finding.code in ("NC004", "NC005") for finding in findings):
        remaining += [item for item in _idle(comments, used, selected) if item.code in selected]
    return remaining


def _means(comment: Suppression, code: str) -> Iterator[str | None]:
    if comment.words is None:
        yield None
    else:
        yield from (word for word in comment.words if resolve(word) == code)


def _idle(
    comments: Comments, used: set[tuple[Suppression, str | None]], selected: frozenset[str]
) -> Iterator[Finding]:
    for comment in comments.suppressions:
        if comment.words is None:
            if (comment, None) not in used:
                yield _unused(comments, comment, "This comment suppresses nothing.")
            continue
        for word in dict.fromkeys(comment.words):
            code = resolve(word)
            if code is None:
                yield Finding(
                    "NC011",
                    f"There is no code '{word}'.",
                    comments.filename,
                    comment.span,
                    help="`namecheck rule` lists all codes and their names.",
                )
            elif (comment, word) not in used and code in selected:
                message = f"There is no {word} here to suppress."
                yield _unused(comments, comment, message, word)
        if not comment.words:
            yield _unused(comments, comment, "The brackets contain no code.")


def _unused(comments: Comments, comment: Suppression, message: str, *text: str) -> Finding:
    return Finding(
        "NC010",
        message,
        comments.filename,
        comment.span,
        help="Take it out.",
        facts=Facts(words=text),
    )
