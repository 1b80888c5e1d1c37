"""The projects of the survey: ``python -m tests.real_code.projects RESULTS`` records their checks.

`projects.jsonl` has one object a line. Of the projects that are added, every third belongs to the
check set, whose findings are read only when the corrections for the others are finished; a project
whose findings were read is spent: it says no more about code that namecheck has not met.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from tests.real_code import outcomes, verdicts
from tests.real_code.archives import normalised
from tests.real_code.outcomes import Outcome
from tests.real_code.verdicts import Verdict, Verdicts

FILE: Final = Path(__file__).parent / "projects.jsonl"
TRAINING: Final = "training"
CHECK: Final = "check"
PARTS: Final = (TRAINING, CHECK)
ANNOTATIONS: Final = ("jaxtyping", "torchtyping", "names", "einops", "none")


@dataclass(frozen=True, slots=True)
class Project:
    """One released project, and what its last check gave.

    `dims` tells where its code states dims (a word of `ANNOTATIONS`), `part` the set that it
    belongs to, `looked` the day on which its findings were first read, empty before that, and
    `first` whether the verdicts tell which findings were there that day. `lines` counts the
    lines of its files that import torch, `expressions` and `known` the tensor expressions, and
    those of which every name is known.
    """

    package: str
    version: str
    dims: str
    part: str
    looked: str = ""
    first: bool = False
    end: str = ""
    lines: int = 0
    findings: int = 0
    expressions: int = 0
    known: int = 0

    @property
    def requirement(self) -> str:
        """The requirement that names this release to pip."""
        return f"{self.package}=={self.version}"


def stored() -> list[Project]:
    """The projects of the data file."""
    return [Project(**json.loads(line)) for line in FILE.read_text("utf-8").splitlines()]


def faults(projects: Sequence[Project], judged: Sequence[Verdict]) -> Iterator[str]:
    """Where the data contradict each other: a finding without a verdict, among others."""
    packages = {(project.package, project.version): project for project in projects}
    counts = dict.fromkeys(packages, 0)
    for verdict in judged:
        key = (verdict.package, verdict.version)
        if key not in packages:
            yield f"{verdict.package} {verdict.version} has a verdict, and is no project"
            continue
        counts[key] += verdict.reported
        if not packages[key].looked:
            yield f"{verdict.package} has a verdict, and was never looked at"
    for key, count in counts.items():
        findings = packages[key].findings
        if packages[key].looked and count != findings:
            yield f"{key[0]}: {findings} findings, {count} verdicts on reported findings"


def updated(
    projects: Iterable[Project], results: Mapping[str, Outcome], judged: Verdicts
) -> Iterator[Project]:
    """The projects with the outcomes of their checks; raises `ValueError` for an unread finding."""
    checks = {normalised(name.partition("==")[0]): outcome for name, outcome in results.items()}
    for project in projects:
        outcome = checks.get(project.package)
        if outcome is None or outcome.version != project.version:
            yield project
            continue
        for place in outcome.findings:
            if judged.on(project.package, project.version, place) is None:
                raise ValueError(f"{project.package}: no verdict on {place}")
        statistics = outcome.statistics
        yield replace(
            project,
            end=outcome.end,
            lines=outcome.lines,
            findings=len({(p.file, p.line, p.code) for p in outcome.findings}),
            expressions=statistics.get("expressions", project.expressions),
            known=statistics.get("full", project.known),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the checks in a file of outcomes; 1 if a finding has no verdict."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_code.projects")
    parser.add_argument("results", type=Path, help="outcomes of the survey")
    options = parser.parse_args(arguments)
    judged = Verdicts(verdicts.stored())
    try:
        projects = list(updated(stored(), outcomes.read(options.results), judged))
    except ValueError as error:
        print(error)
        return 1
    FILE.write_text("".join(json.dumps(asdict(p)) + "\n" for p in projects), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
