"""The change that a fix makes, as a small diff under its finding.

::

      = fix (unsafe): Give `b` the dims it lacks: `[:, None]`.
      |
    9 - return a / b
    9 + return a / b[:, None]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from namecheck.core.findings import Edit, Fix, Span
from namecheck.report.frame import noted, room, visible, width_of
from namecheck.report.painter import Painter

_SHOWN: Final = 12
_LEAD: Final = 40


def rows(fix: Fix, lines: Sequence[str], gutter: int, paint: Painter) -> Iterator[str]:
    """The rows that show a fix: its description, and the lines that it removes and adds."""
    indent = " " * gutter
    yield from noted(f"fix ({fix.applicability})", fix.message, gutter, paint)
    changed = list(_changed(lines, applied(lines, fix.edits)))
    margin = min((_indent(text) for _, _, text, _ in changed if text.strip()), default=0)
    if changed:
        yield paint("gutter", f"{indent} |")
    for number, sign, text, same in changed[:_SHOWN]:
        ahead = len(text[:same].expandtabs(4))
        part = _window(visible(text.expandtabs(4)[margin:]), ahead - margin, room(gutter, paint))
        row = f"{sign} {part}".rstrip()
        role = "removed" if sign == "-" else "added"
        yield f"{paint('gutter', f'{number:>{gutter}}')} {paint(role, row)}"
    if len(changed) > _SHOWN:
        yield paint("gutter", f"{indent} … {len(changed) - _SHOWN} more")


def diff_line(line: str, paint: Painter) -> str:
    """A line of a unified diff in its colour."""
    if line.startswith(("---", "+++")):
        return paint("bold", line)
    role = _ROLES.get(line[:1])
    return line if role is None else paint(role, line)


_ROLES: Final = {"-": "removed", "+": "added", "@": "gutter"}


def applied(lines: Sequence[str], edits: Sequence[Edit]) -> list[str]:
    """The lines of a file after some edits that do not overlap."""
    result = list(lines)
    for edit in sorted(edits, key=lambda edit: edit.span)[::-1]:
        span = edit.span
        front = result[span.line - 1][: span.column - 1]
        behind = (
            result[span.end_line - 1][span.end_column - 1 :] if span.end_line <= len(result) else ""
        )
        result[span.line - 1 : span.end_line] = f"{front}{edit.text}{behind}".split("\n")
    return result


def merged(edits: Sequence[Edit], lines: Sequence[str]) -> Edit:
    """One edit that does what several do that do not overlap, over the text between them."""
    spans = sorted(edit.span for edit in edits)
    whole = Span(*spans[0].start, *max(span.end for span in spans))
    grown = len(applied(lines, edits)) - len(lines)
    text = "\n".join(applied(lines, edits)[whole.line - 1 : whole.end_line + grown])
    behind = (
        len(lines[whole.end_line - 1]) - whole.end_column + 1 if whole.end_line <= len(lines) else 0
    )
    return Edit(whole, text[whole.column - 1 : len(text) - behind])


def _changed(
    old_lines: Sequence[str], new_lines: Sequence[str]
) -> Iterator[tuple[int, str, str, int]]:
    """The removed and added lines, each with its number in its own version of the file.

    Each has the number of letters that it shares with its counterpart.
    """
    from namecheck.core.line_matcher import LineMatcher, length_in_common

    for tag, i, i_end, j, j_end in LineMatcher(old_lines, new_lines).get_opcodes():
        if tag != "equal":
            pairs = zip_longest(old_lines[i:i_end], new_lines[j:j_end], fillvalue="")
            same = [length_in_common(*pair) for pair in pairs]
            yield from ((n + 1, "-", old_lines[n], same[n - i]) for n in range(i, i_end))
            yield from ((n + 1, "+", new_lines[n], same[n - j]) for n in range(j, j_end))


def _window(text: str, column: int, width: int) -> str:
    """The part of a long line around the column of a change."""
    if width_of(text) <= width:
        return text
    inner = width - 2  # between two ellipses
    start = 0 if column + _LEAD < inner else column - min(_LEAD, inner // 2)
    part = text[start : start + inner]
    while width_of(part) > inner:
        part = part[:-1]
    before, after = "…" if start else "", "…" if start + len(part) < len(text) else ""
    return f"{before}{part}{after}"


def _indent(text: str) -> int:
    wide = text.expandtabs(4)
    return len(wide) - len(wide.lstrip())


def summary(fixed: int, ignored: int, remaining: int, unsafe: int, *, tense: str = "") -> str:
    """The last line: ``3 fixed, 2 left; 1 more with --unsafe-fixes.``"""
    if not fixed and not ignored and not remaining:
        return "All checks passed."
    parts = [f"{fixed:,} {tense}fixed"]
    if ignored:
        parts.append(f"{ignored:,} {tense}suppressed")
    parts.append(f"{remaining:,} left")
    more = f"; {unsafe:,} more with --unsafe-fixes" if unsafe else ""
    return f"{', '.join(parts)}{more}."
