"""The fixes that were tried for a finding and refused, below the finding.

::

      = tried (unsafe): Take dim 0 in `x.mean(1)`.
             refused: the finding would not go away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from namecheck.core.findings import Finding, register
from namecheck.core.refusals import Reason, Refusal
from namecheck.report.frame import noted
from namecheck.report.painter import Painter
from namecheck.report.wording import locations

_SENTENCES: Final = {
    Reason.CLASHES: "refused: its edits overlap each other.",
    Reason.UNWRITABLE: "refused: the encoding of the file lacks a character of it.",
    Reason.UNPARSABLE: "refused: the changed file would not parse.",
    Reason.STAYS: "refused: the finding would not go away.",
    Reason.BRINGS: "refused: it would cause {findings}.",
    Reason.OBSCURES: "refused: dims that are known now would be unknown after it.",
    Reason.AMBIGUOUS: "refused: another fix of this kind would do as well.",
    Reason.TOO_LONG: "given up: too much would have to be checked to try it.",
}


def rows(refusals: Sequence[Refusal], gutter: int, paint: Painter) -> Iterator[str]:
    """Two rows for each refused fix: its description, and the reason of the refusal."""
    for refusal in refusals:
        brought = ", ".join(map(_brief, refusal.findings))
        sentence = _SENTENCES[refusal.reason].format(findings=brought)
        head = f"tried ({refusal.fix.applicability})"
        yield from noted(head, f"{refusal.fix.message}\n{sentence}", gutter, paint)


def no_rows(gutter: int, paint: Painter) -> Iterator[str]:
    """The row of a finding for which no fix was tried."""
    yield f"{' ' * gutter} {paint('gutter', '=')} {paint('help', 'fix')}: none was tried."


def _brief(finding: Finding) -> str:
    code = register()[finding.code]
    span = finding.span
    return f"{code.code} {code.name} at {finding.filename}:{span.line}:{span.column}"


def as_objects(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    """The refused fixes as data."""
    return [
        {
            "applicability": refusal.fix.applicability,
            "message": refusal.fix.message,
            "edits": [{"content": edit.text, **locations(edit.span)} for edit in refusal.fix.edits],
            "reason": refusal.reason.value,
            "findings": [
                {
                    "code": finding.code,
                    "message": finding.message,
                    "filename": finding.filename,
                    **locations(finding.span),
                }
                for finding in refusal.findings
            ],
        }
        for refusal in refusals
    ]
