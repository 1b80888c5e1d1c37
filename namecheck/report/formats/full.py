"""``full``: each finding with its source lines, its help and its fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from namecheck.core.findings import Finding, Fix, register
from namecheck.report import frame
from namecheck.report.closing import closing
from namecheck.report.formats import Format
from namecheck.report.frame import Label
from namecheck.report.listing import NO_FIXES, Listing, Reader, Refusals
from namecheck.report.painter import Painter


def texts(
    findings: Iterable[Finding],
    reader: Reader,
    paint: Painter,
    fixes: Mapping[Finding, Fix] = NO_FIXES,
    refused: Refusals | None = None,
) -> Iterator[str]:
    """Every finding with its source lines, as one text each, with a blank line at the end.

    The `refused` fixes that were tried for a finding follow it.
    """
    for finding in findings:
        rows = [*_rows(finding, reader, paint)]
        gutter = frame.widest(_labels(finding))
        fix = fixes.get(finding)
        if refused is not None and finding in refused:
            from namecheck.report import refusals  # only where they are asked for

            rows += refusals.rows(refused[finding], gutter, paint)
            if not refused[finding] and fix is None:
                rows += refusals.no_rows(gutter, paint)
        if fix is not None:
            from namecheck.report import changes  # few findings have a fix

            rows += changes.rows(fix, reader(finding.filename), gutter, paint)
        yield "\n".join(rows) + "\n"


def _rows(finding: Finding, reader: Reader, paint: Painter) -> Iterator[str]:
    code = register()[finding.code]
    paint = paint.seen_as(code.kind)
    head = f"{code.code} {code.name}"
    first, *rest = frame.visible_lines(finding.message)
    columns = None if paint.columns is None else paint.columns - 2
    first, *more = frame.folded(first, columns, len(head))
    yield f"{paint('primary', head)}{paint('bold', f': {first}')}"
    for row in (*more, *(part for one in rest for part in frame.folded(one, columns))):
        yield f"  {row}"
    labels = _labels(finding)
    gutter = frame.widest(labels)
    arrow = "-->"
    for filename, group in labels.items():
        span = finding.span if filename == finding.filename else group[0].span
        place = f"{frame.visible(filename)}:{span.line}:{span.column}"
        yield f"{' ' * gutter}{paint('gutter', arrow)} {place}"
        if source := reader(filename):
            yield from frame.frame(source, group, gutter, paint)
        arrow = ":::"
    if finding.help:
        yield paint("gutter", " " * gutter + " |")
        yield from frame.noted("help", finding.help, gutter, paint)


def _labels(finding: Finding) -> dict[str, list[Label]]:
    """The labels of a finding by file, its own file first."""
    label_groups: dict[str, list[Label]] = {finding.filename: []}
    if finding.marks:
        for mark in finding.marks:
            label = Label(mark.span, frame.visible(mark.message), True)
            label_groups.setdefault(mark.filename, []).append(label)
    else:
        label_groups[finding.filename].append(Label(finding.span, primary=True))
    for place in finding.related:
        label = Label(place.span, frame.visible(place.message))
        label_groups.setdefault(place.filename, []).append(label)
    return label_groups


def _lines(listing: Listing) -> Iterator[str]:
    yield from texts(
        listing.findings, listing.reader, listing.paint, listing.fixes, listing.refusals
    )
    yield from closing(listing)


# One or two seconds of work.
FORMAT: Final = Format(_lines, fix_budget=500_000, explains=True)
