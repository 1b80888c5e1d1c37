"""``sarif``: SARIF 2.1.0, which GitHub code scanning and many viewers read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from namecheck.core.findings import Code, Finding, Fix, Kind, Place, Span, register
from namecheck.core.fingerprints import Identity, identities
from namecheck.core.syntax import segment
from namecheck.report.addresses import place, uri
from namecheck.report.formats import Format
from namecheck.report.formats.json import strict_text
from namecheck.report.listing import Listing, Reader
from namecheck.version import VERSION

# The root of the repository, which the reader of the report knows.
_ROOT: Final = "SRCROOT"
_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_FINGERPRINT: Final = "namecheck/v1"
_LEVELS: Final = {
    Kind.FINDING: "error",
    Kind.FILE: "error",
    Kind.LINT: "warning",
    Kind.NOTE: "note",
}


def log(listing: Listing) -> dict[str, Any]:
    """The report of one run: the rules of the reported codes, and a result for each finding."""
    codes = sorted({finding.code for finding in listing.findings})
    by_finding = identities(listing.findings, listing.reader, listing.path_in_project)
    results = [
        {
            **_result(finding, by_finding[finding], codes.index(finding.code), listing.reader),
            **_fixes(finding, listing.fixes),
        }
        for finding in listing.findings
    ]
    driver = {
        "name": "namecheck",
        "fullName": "namecheck: dimension names of PyTorch tensors",
        "version": VERSION,
        "semanticVersion": VERSION,
        "rules": [_rule(register()[code]) for code in codes],
    }
    root = {"description": {"text": "The root of the repository."}}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_ROOT: root},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: Code) -> dict[str, Any]:
    programs = (("Bad", code.bad), ("Good", code.good))
    shown = [f"{title}:\n\n```python\n{program}\n```" for title, program in programs if program]
    plain = [f"{title}:\n\n{program}" for title, program in programs if program]
    explanation = code.explained or code.summary
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in code.name.split("-")),
        "shortDescription": {"text": code.summary},
        "fullDescription": {"text": " ".join(explanation.partition("\n\n")[0].split())},
        "help": {
            "text": "\n\n".join([explanation, *plain]),
            "markdown": "\n\n".join([explanation, *shown]),
        },
        "defaultConfiguration": {"level": _LEVELS[code.kind]},
        "properties": {"tags": ["pytorch", code.kind.value], "precision": "very-high"},
    }


def _result(
    finding: Finding, identity: Identity, rule_index: int, reader: Reader
) -> dict[str, Any]:
    location = _location(finding.filename, finding.span)
    if source := segment(reader(finding.filename), finding.span):
        location["physicalLocation"]["region"]["snippet"] = {"text": source}
    if identity.function:
        named = {"fullyQualifiedName": identity.function, "kind": "function"}
        location["logicalLocations"] = [named]
    result = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[register()[finding.code].kind],
        "message": {"text": "\n".join(_sentences(finding))},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: identity.fingerprint},
    }
    related = [
        {"id": number, **_location(each.filename, each.span), "message": {"text": each.message}}
        for number, each in enumerate(_places(finding), 1)
    ]
    return {**result, "relatedLocations": related} if related else result


def _sentences(finding: Finding) -> Iterator[str]:
    """The message, the places that a reader without related locations would miss, the help."""
    yield finding.message
    for each in finding.related:
        yield f"{place(each.filename, each.span)}: {each.message}"
    if finding.help:
        yield finding.help


def _places(finding: Finding) -> Iterator[Place]:
    yield from (mark for mark in finding.marks if mark.message)
    yield from finding.related


def _location(filename: str, span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _file(filename), "region": _region(span)}}


def _file(filename: str) -> dict[str, str]:
    address = uri(filename)
    return {"uri": address} if address.startswith("file:") else {"uri": address, "uriBaseId": _ROOT}


def _region(span: Span) -> dict[str, Any]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fixes(finding: Finding, fixes: Mapping[Finding, Fix]) -> dict[str, Any]:
    fix = fixes.get(finding)
    if fix is None:
        return {}
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        for edit in fix.edits
    ]
    change = {"artifactLocation": _file(finding.filename), "replacements": replacements}
    described = {"text": f"{fix.message} ({fix.applicability})"}
    properties = {"applicability": fix.applicability}
    return {
        "fixes": [{"description": described, "artifactChanges": [change], "properties": properties}]
    }


def _lines(listing: Listing) -> Iterator[str]:
    yield strict_text(log(listing))


FORMAT: Final = Format(_lines, fix_budget=1_600_000)
