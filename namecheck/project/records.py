"""Outcomes and fixes as JSON text, validated, as another program may have written the cache."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from namecheck.core.findings import Edit, Facts, Finding, Fix, Given, Place, Span
from namecheck.core.syntax import Suppression
from namecheck.project.contents import digest
from namecheck.project.files import Query
from namecheck.project.suppression import Comments
from namecheck.project.tasks import Outcome

Fixes: TypeAlias = Mapping[str, Fix | int | None]
"""The fixes of findings, by the digests of these; None where there is none.

A number instead says that the search was given up after so many bytes were checked.
"""


def lookups_text(resolved: Iterable[tuple[Query, str | None]]) -> str:
    """The results of lookups of modules as text."""
    listed = sorted(([*query], result) for query, result in resolved)
    return json.dumps(listed, separators=(",", ":"))


@lru_cache(maxsize=256)
def lookups_of(text: str) -> tuple[tuple[Query, str | None], ...]:
    """Parse the lookups of modules with their results; raises ValueError, TypeError."""
    return tuple(((*query,), result) for query, result in json.loads(text))


def outcome_text(outcome: Outcome) -> str:
    """An outcome as text."""
    return json.dumps(_record(outcome), separators=(",", ":"))


def fixes_text(trial_results: Fixes) -> str:
    """Fixes as text."""
    recorded = {
        key: _fix(fix) if isinstance(fix, Fix) else fix for key, fix in trial_results.items()
    }
    return json.dumps(recorded, separators=(",", ":"))


def fixes_of(text: str) -> Fixes:
    """Parse fixes; raises ValueError, TypeError, KeyError."""
    return {
        key: _fix_again(fix) if isinstance(fix, list) else fix
        for key, fix in json.loads(text).items()
    }


def digest_of(finding: Finding) -> str:
    """A digest of a finding with its facts, which a fix of it depends on."""
    return digest(json.dumps(_finding(finding)).encode()).hex()


def _fix(fix: Fix) -> list[Any]:
    return [fix.message, fix.safe, [[_span(edit.span), edit.text] for edit in fix.edits]]


def _fix_again(record: list[Any]) -> Fix:
    message, safe, edits = record
    return Fix(message, safe, tuple(Edit(Span(*span), text) for span, text in edits))


def _record(outcome: Outcome) -> dict[str, Any]:
    comments = outcome.comments
    record: dict[str, Any] = {"parsed": outcome.parsed}
    if outcome.findings:
        record["findings"] = [_finding(finding) for finding in outcome.findings]
    if comments is not None:
        record["comments"] = [
            comments.filename,
            [[[*_span(c.span)], c.line, c.words] for c in comments.suppressions],
            [[line, *ends] for line, ends in comments.statements.items()],
        ]
    return record


def _span(span: Span) -> list[int]:
    return [span.line, span.column, span.end_line, span.end_column]


def _finding(finding: Finding) -> list[Any]:
    return [
        finding.code,
        finding.message,
        finding.filename,
        _span(finding.span),
        finding.help,
        [[place.filename, _span(place.span), place.message] for place in finding.marks],
        [[place.filename, _span(place.span), place.message] for place in finding.related],
        finding.error,
        finding.facts and _facts(finding.facts),
    ]


def _facts(facts: Facts) -> list[Any]:
    given = [
        [_span(one.span), one.names, one.labelled, one.dtype, one.device] for one in facts.given
    ]
    return [facts.operator, facts.words, given, facts.settled]


@lru_cache(maxsize=256)
def outcome_of(text: str) -> Outcome:
    """Parse an outcome; raises ValueError, TypeError, KeyError."""
    record, comments = json.loads(text), None
    if "comments" in record:
        filename, listed, statements = record["comments"]
        comments = Comments(
            filename,
            tuple(
                Suppression(Span(*span), line, None if words is None else tuple(words))
                for span, line, words in listed
            ),
            {line: (first, last) for line, first, last in statements},
        )
    findings = tuple(map(_finding_again, record.get("findings", ())))
    return Outcome(findings, record["parsed"], comments)


def _finding_again(record: list[Any]) -> Finding:
    code, message, filename, span, help_, marks, related, error, facts = record
    return Finding(
        code,
        message,
        filename,
        Span(*span),
        help_,
        tuple(Place(file, Span(*at), text) for file, at, text in marks),
        tuple(Place(file, Span(*at), text) for file, at, text in related),
        error,
        facts=facts and _facts_again(facts),
    )


def _facts_again(record: list[Any]) -> Facts:
    operator, words, given, settled = record
    return Facts(
        operator,
        tuple(words),
        tuple(
            Given(Span(*span), None if names is None else tuple(names), *rest)
            for span, names, *rest in given
        ),
        settled,
    )
