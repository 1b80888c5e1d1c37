"""Findings as text for a reader (`full`, `concise`), for programs (`json`), for GitHub."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from namecheck.core import syntax
from namecheck.core.findings import Finding, Fix, Kind, Place, register
from namecheck.core.refusals import Refusal
from namecheck.core.syntax import Refused
from namecheck.report import changes, frame
from namecheck.report import refusals as refused
from namecheck.report.frame import Label
from namecheck.report.painter import Painter
from namecheck.report.wording import counted, locations

Lines = Callable[[str], Sequence[str]]
"""Gives the lines of a file, none where it cannot be read."""

NO_FIXES: Final[Mapping[Finding, Fix]] = MappingProxyType({})


def reader(given: Mapping[str, bytes]) -> Lines:
    """Reads the lines of files, each once; `given` holds what came from elsewhere (stdin)."""

    @cache
    def lines(filename: str) -> Sequence[str]:
        try:
            data = given[filename] if filename in given else _bytes(filename)
            return syntax.decode(data, filename).split("\n")
        except OSError:
            return ()
        except Refused:
            return data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")

    return lines


def _bytes(filename: str) -> bytes:
    with open(filename, "rb") as file:
        return file.read()


def full(
    findings: Iterable[Finding],
    lines: Lines,
    paint: Painter,
    fixes: Mapping[Finding, Fix] = NO_FIXES,
    refusals: Mapping[Finding, Sequence[Refusal]] | None = None,
) -> Iterator[str]:
    """Every finding with its source lines, one text with a blank line at its end each.

    With `refusals` the fixes that were tried and refused stand below it.
    """
    for finding in findings:
        rows = [*_full(finding, lines, paint)]
        if refusals is not None and finding in refusals:
            rows += refused.rows(refusals[finding], _gutter(finding), paint)
            if not refusals[finding] and finding not in fixes:
                rows += refused.no_rows(_gutter(finding), paint)
        fix = fixes.get(finding)
        if fix is not None:
            rows += changes.rows(fix, lines(finding.filename), _gutter(finding), paint)
        yield "\n".join(rows) + "\n"


def _gutter(finding: Finding) -> int:
    return frame.widest(_labels(finding))


def _full(finding: Finding, lines: Lines, paint: Painter) -> Iterator[str]:
    code = register()[finding.code]
    paint = paint.seen_as(code.kind)
    first, *rest = frame.visible_lines(finding.message)
    yield f"{paint('primary', f'{code.code} {code.name}')}{paint('bold', f': {first}')}"
    yield from (f"  {row}" for row in rest)
    labels = _labels(finding)
    gutter = frame.widest(labels)
    arrow = "-->"
    for filename, group in labels.items():
        at = finding.span if filename == finding.filename else group[0].span
        place = f"{frame.visible(filename)}:{at.line}:{at.column}"
        yield f"{' ' * gutter}{paint('gutter', arrow)} {place}"
        if source := lines(filename):
            yield from frame.frame(source, group, gutter, paint)
        arrow = ":::"
    if finding.help:
        yield paint("gutter", " " * gutter + " |")
        first, *rest = frame.visible_lines(finding.help)
        yield f"{' ' * gutter} {paint('gutter', '=')} {paint('help', 'help')}: {first}"
        yield from (f"{' ' * gutter}         {row}" for row in rest)


def _labels(finding: Finding) -> dict[str, list[Label]]:
    """The labels of a finding by file, its own file first."""
    labels: dict[str, list[Label]] = {finding.filename: []}
    if finding.marks:
        for mark in finding.marks:
            label = Label(mark.span, frame.visible(mark.message), True)
            labels.setdefault(mark.filename, []).append(label)
    else:
        labels[finding.filename].append(Label(finding.span, primary=True))
    for place in finding.related:
        label = Label(place.span, frame.visible(place.message))
        labels.setdefault(place.filename, []).append(label)
    return labels


def concise(findings: Iterable[Finding], paint: Painter) -> Iterator[str]:
    """One line a finding."""
    for finding in findings:
        code = register()[finding.code]
        place = f"{finding.filename}:{finding.span.line}:{finding.span.column}"
        message = " ".join(finding.message.split())
        label = paint(code.kind.value, f"{code.code} {code.name}")
        yield f"{paint('bold', frame.visible(place))}: {label}: {frame.visible(message)}"


def as_json(
    findings: Sequence[Finding],
    statistics: Mapping[str, Any] | None = None,
    fixes: Mapping[Finding, Fix] = NO_FIXES,
    refusals: Mapping[Finding, Sequence[Refusal]] | None = None,
) -> str:
    """An array of objects of the shape that ruff gives, with `kind`, `help` and `related`.

    With statistics it is an object that holds both; with `refusals` each has `refused`.
    """
    told: Any = [{**_object(one), "fix": _fix(fixes.get(one))} for one in findings]
    if refusals is not None:
        for finding, item in zip(findings, told, strict=True):
            item["refused"] = refused.as_objects(refusals.get(finding, ()))
    if statistics is not None:
        told = {"findings": told, "statistics": statistics}
    return json.dumps(told, indent=2, ensure_ascii=False)


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


_LEVELS: Final = {
    Kind.FINDING: "error",
    Kind.FILE: "error",
    Kind.LINT: "warning",
    Kind.NOTE: "notice",
}


def github(findings: Iterable[Finding]) -> Iterator[str]:
    """Workflow commands, which GitHub shows as annotations of the changed lines."""
    for finding in findings:
        code = register()[finding.code]
        span = finding.span
        properties = {
            "title": f"namecheck ({code.code})",
            "file": finding.filename,
            "line": span.line,
            "endLine": span.end_line,
            "col": span.column,
        }
        if span.line == span.end_line:
            properties["endColumn"] = span.end_column
        told = ",".join(f"{key}={_escaped(str(value), True)}" for key, value in properties.items())
        place = f"{finding.filename}:{span.line}:{span.column}"
        message = _escaped(f"{place}: {code.code} {code.name}: {finding.message}", False)
        yield f"::{_LEVELS[code.kind]} {told}::{message}"


def _escaped(text: str, is_property: bool) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def summary(findings: Sequence[Finding]) -> str:
    """The last line: how many errors and notes in how many files."""
    kinds = [register()[finding.code].kind for finding in findings]
    notes = kinds.count(Kind.NOTE)
    errors = len(kinds) - notes
    if not errors:
        return "All checks passed." + (f" {counted(notes, 'note')}." if notes else "")
    files = len(
        {
            finding.filename
            for finding, kind in zip(findings, kinds, strict=True)
            if kind is not Kind.NOTE
        }
    )
    also = f" and {counted(notes, 'note')}" if notes else ""
    return f"Found {counted(errors, 'error')}{also} in {counted(files, 'file')}."
