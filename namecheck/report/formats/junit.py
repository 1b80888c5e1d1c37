"""``junit``: JUnit's XML, which continuous integration shows as results of tests.

Each file with findings is a suite, each finding a test that fails. A run without findings is one
test that passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from namecheck.core.findings import Finding, Kind, register
from namecheck.report.formats import Format
from namecheck.report.frame import visible, visible_lines
from namecheck.report.listing import Listing

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_FAULT: Final = "NC005"


def _lines(listing: Listing) -> Iterator[str]:
    from xml.etree import ElementTree

    by_file: dict[str, list[Finding]] = {}
    for finding in listing.findings:
        by_file.setdefault(finding.filename, []).append(finding)
    whole = _element("testsuites", "namecheck", listing.findings)
    for filename, of_file in by_file.items():
        suite = _element("testsuite", visible(filename), of_file)
        suite.extend(_case(finding) for finding in of_file)
        whole.append(suite)
    if not by_file:
        whole.set("tests", "1")
        suite = _element("testsuite", "namecheck", ())
        suite.set("tests", "1")
        suite.append(ElementTree.Element("testcase", name="No findings", classname="namecheck"))
        whole.append(suite)
    ElementTree.indent(whole)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield ElementTree.tostring(whole, encoding="unicode")


def _element(tag: str, name: str, findings: Sequence[Finding]) -> Element:
    """An element with the number of its tests, failures and errors."""
    from xml.etree.ElementTree import Element

    errors = sum(finding.code == _FAULT for finding in findings)
    failures = sum(not _is_note(finding) for finding in findings) - errors
    counts = {"tests": len(findings), "failures": failures, "errors": errors}
    return Element(tag, {"name": name, **{key: str(count) for key, count in counts.items()}})


def _case(finding: Finding) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    code = register()[finding.code]
    span = finding.span
    place = f"{span.line}:{span.column}"
    attributes = {
        "name": f"{code.code} {code.name} at {place}",
        "classname": visible(finding.filename),
        "file": visible(finding.filename),
        "line": str(span.line),
    }
    case = Element("testcase", attributes)
    message = "\n".join(visible_lines(finding.message))
    if _is_note(finding):
        SubElement(case, "system-out").text = f"{place}: {message}"
        return case
    outcome = "error" if finding.code == _FAULT else "failure"
    failure = SubElement(case, outcome, type=code.name, message=" ".join(message.split()))
    failure.text = "\n".join(_details(finding, message))
    return case


def _details(finding: Finding, message: str) -> Iterator[str]:
    yield f"{visible(finding.filename)}:{finding.span.line}:{finding.span.column}: {message}"
    for place in finding.related:
        where = f"{visible(place.filename)}:{place.span.line}:{place.span.column}"
        yield f"{where}: {visible(place.message)}"
    if finding.help:
        yield "\n".join(visible_lines(finding.help))


def _is_note(finding: Finding) -> bool:
    return register()[finding.code].kind is Kind.NOTE


FORMAT: Final = Format(_lines)
