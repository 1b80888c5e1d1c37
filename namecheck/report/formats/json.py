"""``json``: the findings as data, in ruff's JSON structure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from namecheck.core.findings import Finding, Fix, Place, register
from namecheck.report import refusals
from namecheck.report.formats import Format
from namecheck.report.listing import NO_FIXES, Listing, Refusals
from namecheck.report.wording import locations


def objects(
    findings: Iterable[Finding],
    fixes: Mapping[Finding, Fix] = NO_FIXES,
    refused: Refusals | None = None,
    untried: Collection[Finding] = (),
) -> list[dict[str, Any]]:
    """An object for each finding, with `kind`, `help`, `marks`, `related` and `fix`.

    If refused fixes are requested, it has `refused` too, and those of `untried` findings say so.
    """
    items = []
    for finding in findings:
        item = {**_object(finding), "fix": _fix(fixes.get(finding))}
        if refused is not None:
            item["refused"] = refusals.as_objects(refused.get(finding, ()))
        if finding in untried:
            item["untried"] = True
        items.append(item)
    return items


def _object(finding: Finding) -> dict[str, Any]:
    code = register()[finding.code]
    return {
        "code": code.code,
        "name": code.name,
        "kind": code.kind.value,
        "message": finding.message,
        "filename": finding.filename,
        **locations(finding.span),
        "url": None,
        "help": finding.help,
        "marks": [_place(mark) for mark in finding.marks],
        "related": [_place(place) for place in finding.related],
    }


def _fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    edits = [{"content": edit.text, **locations(edit.span)} for edit in fix.edits]
    return {"applicability": fix.applicability, "message": fix.message, "edits": edits}


def _place(place: Place) -> dict[str, Any]:
    return {"filename": place.filename, **locations(place.span), "message": place.message}


def text(payload: object) -> str:
    """Data as the JSON that all reports print."""
    return _with_escapes(json.dumps(payload, indent=2, ensure_ascii=False))


def strict_text(payload: object) -> str:
    """The same for readers that refuse lone surrogates, which stand for bytes that are no text."""
    dumped = json.dumps(payload, indent=2, ensure_ascii=False)
    return _with_escapes(re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", dumped))


def _with_escapes(dumped: str) -> str:
    """JSON with escapes for what controls a terminal or reorders a line, which JSON allows."""
    if all(map(str.isprintable, dumped.split("\n"))):
        return dumped
    return "".join(
        letter if letter.isprintable() or letter == "\n" else _escape(letter) for letter in dumped
    )


def _escape(letter: str) -> str:
    escape = json.dumps(letter)[1:-1]
    return f"\\u{ord(letter):04x}" if escape == letter else escape


def _lines(listing: Listing) -> Iterator[str]:
    """An array of objects; with statistics an object that contains both."""
    items = objects(listing.findings, listing.fixes, listing.refusals, listing.untried)
    if listing.statistics is None:
        yield text(items)
        return
    from namecheck.report import statistics

    counts = statistics.as_object(listing.statistics, listing.file_count)
    yield text({"findings": items, "statistics": counts})


# A person would not wait this long, but programs do.
FORMAT: Final = Format(_lines, fix_budget=1_600_000, explains=True)
