"""Checks one released package in a process of its own."""

from __future__ import annotations

import json
import re
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from namecheck.core import syntax
from namecheck.core.findings import Kind, register
from tests.real_code import outcomes
from tests.real_code.archives import ArchiveError, download, stored_archive, unpack, version_of
from tests.real_code.limits import Ended, Limits, run_limited
from tests.real_code.outcomes import Outcome, Place

_COMMAND: Final = ("check", ".", "--no-cache", "-j", "1")
# JSON lists fixes too, and to try them out takes up to four times as long as the check.
_FORMAT: Final = ("--output-format", "concise")
_LINE: Final = re.compile(
    r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<code>NC\d{3}) [a-z-]+: (?P<message>.*)"
)
_INTERNAL: Final = "NC005"
_LONGEST_REPORT: Final = 4_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How every package of a survey is checked; plain data, so that any executor can pass it on.

    `checkout` is the folder of the namecheck that checks, `commit` its state; archives are taken
    from the folder `archives`, and downloaded to it unless the survey is `offline`. `sources`
    allows source distributions, whose build scripts pip runs.
    """

    checkout: Path
    commit: str
    archives: Path
    offline: bool = False
    sources: bool = False
    limits: Limits = field(default_factory=Limits)
    options: tuple[str, ...] = ()


def check_package(requirement: str, plan: Plan) -> Outcome:
    """The outcome for one package: ``torchmetrics`` or ``torchmetrics==1.0``."""
    try:
        archive = stored_archive(requirement, plan.archives)
        if archive is None and plan.offline:
            raise ArchiveError("it is not in the folder of archives")
        if archive is None:
            archive = download(requirement, plan.archives, plan.sources)
    except ArchiveError as error:
        return Outcome(requirement, outcomes.NO_ARCHIVE, commit=plan.commit, reason=str(error))
    version = version_of(archive)
    with tempfile.TemporaryDirectory(prefix="survey_") as scratch:
        folder = Path(scratch) / "package"
        folder.mkdir()
        try:
            unpacked = unpack(archive, folder)
        except ArchiveError as error:
            return Outcome(
                requirement, outcomes.BAD_ARCHIVE, version, plan.commit, reason=str(error)
            )
        torch_lines = list(_torch_lines(folder))
        command = [*_COMMAND, *_FORMAT, *plan.options]
        ended = run_limited("namecheck", command, plan.limits, folder, plan.checkout)
    findings, statistics = read_report(ended.output)
    return Outcome(
        requirement,
        _end(ended, findings),
        version,
        plan.commit,
        files=unpacked.files,
        torch_files=len(torch_lines),
        lines=sum(torch_lines),
        seconds=round(ended.seconds, 3),
        wall_seconds=round(ended.wall_seconds, 1),
        mebibytes=round(ended.mebibytes, 1),
        code=ended.code,
        findings=tuple(place for place in findings if is_judgement(place)),
        faults=tuple(_faults(ended, findings)),
        unjudged=(
            *(str(place) for place in findings if _is_limit(place)),
            *(f"{path}: a link, or outside the archive" for path in unpacked.refused),
        ),
        statistics=statistics,
    )


def is_judgement(place: Place) -> bool:
    """Whether a finding says that code is wrong."""
    code = register().get(place.code)  # another checkout may have other codes
    return code is None or code.kind in (Kind.FINDING, Kind.LINT)


def _is_limit(place: Place) -> bool:
    """Whether a finding says that code was not judged, for another reason than a fault."""
    return not is_judgement(place) and place.code != _INTERNAL


def _torch_lines(folder: Path) -> Iterator[int]:
    """The number of lines of each file that imports torch."""
    for path in folder.rglob("*.py"):
        text = path.read_bytes()
        if syntax.imports_torch(text):
            yield text.count(b"\n")


def read_report(output: str) -> tuple[list[Place], dict[str, Any]]:
    """The findings and the statistics in the output of a check, which may have ended early."""
    try:
        report = json.loads(output)
    except ValueError:
        matches = filter(None, map(_LINE.fullmatch, output.splitlines()))
        return [
            Place(m["file"], int(m["line"]), int(m["column"]), m["code"], m["message"])
            for m in matches
        ], {}
    findings = report["findings"] if isinstance(report, dict) else report
    statistics = report.get("statistics", {}) if isinstance(report, dict) else {}
    return [_place(finding) for finding in findings], statistics


def _place(finding: dict[str, Any]) -> Place:
    location, message = finding["location"], " ".join(finding["message"].split())
    path = finding["filename"]
    return Place(path, location["row"], location["column"], finding["code"], message)


def _end(ended: Ended, findings: list[Place]) -> str:
    if ended.timed_out:
        return outcomes.OUT_OF_CLOCK
    if ended.code == -signal.SIGXCPU:
        return outcomes.OUT_OF_TIME
    internal = (place.message for place in findings if place.code == _INTERNAL)
    if "MemoryError" in ended.errors or any("MemoryError" in message for message in internal):
        return outcomes.OUT_OF_MEMORY
    return outcomes.FINISHED if ended.code in (0, 1, 2) else outcomes.DIED


def _faults(ended: Ended, findings: list[Place]) -> Iterator[str]:
    """The internal errors of a check: reported ones, tracebacks, and exit codes above 1."""
    internal = [str(place) for place in findings if place.code == _INTERNAL]
    yield from internal
    if "Traceback (most recent call last)" in ended.errors:
        yield ended.errors[-_LONGEST_REPORT:]
    elif ended.code not in (0, 1) and not internal:
        yield f"exit code {ended.code}: {ended.errors[-_LONGEST_REPORT:]}"
