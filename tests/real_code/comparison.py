"""Compares two surveys: the findings that came and went, and checks that end otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.real_code.outcomes import UNCHECKED, Outcome
from tests.real_code.verdicts import Verdicts


def differences(
    before: Mapping[str, Outcome], after: Mapping[str, Outcome], verdicts: Verdicts
) -> Iterator[str]:
    """One line for each finding that came (+) or went (-), for each change of an end or version.

    Packages that only one of the surveys has, or of which they have different versions, are not
    compared finding by finding.
    """
    for package in sorted(before.keys() | after.keys()):
        if package not in before or package not in after:
            yield f"{package}: only in the {'second' if package in after else 'first'} survey"
            continue
        yield from _of_package(before[package], after[package], verdicts)


def _of_package(before: Outcome, after: Outcome, verdicts: Verdicts) -> Iterator[str]:
    if before.version != after.version:
        yield f"{after.package}: version {before.version or '-'}, now {after.version or '-'}"
        return
    if before.end != after.end:
        yield f"{after.package}: {before.end}, now {after.end}"
    if before.end in UNCHECKED or after.end in UNCHECKED:
        return
    for sign, changes in (
        ("-", Counter(before.findings) - Counter(after.findings)),
        ("+", Counter(after.findings) - Counter(before.findings)),
    ):
        for place in sorted(changes.elements()):
            verdict = verdicts.of(after.package, after.version, place)
            yield f"{sign} {after.package} {place}{f'  ({verdict})' if verdict else ''}"
    for sign, faults in (
        ("-", Counter(before.faults) - Counter(after.faults)),
        ("+", Counter(after.faults) - Counter(before.faults)),
    ):
        for fault in sorted(faults.elements()):
            yield f"{sign} {after.package} fault: {fault.strip().splitlines()[-1]}"
