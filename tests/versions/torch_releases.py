"""The shim on other releases of torch, compared with the thinned recording of torch 2.12."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.versions.environments import InstallError, make
from tests.versions.outcomes import Outcome, not_run, of_run

RELEASES: Final = ("2.9", "2.10", "2.11", "2.12", "2.13")
CASES: Final = "fixtures/oracle/golden.jsonl.gz"


def outcomes(folder: Path, versions: Sequence[str]) -> Iterator[Outcome]:
    """The outcome with each release, in both semantics."""
    for version in versions or RELEASES:
        try:
            environment = make(folder / f"torch-{version}", [f"torch=={version}.*", "numpy>=2"])
        except InstallError as error:
            yield not_run(f"torch {version}", error)
            continue
        name = f"torch {environment.version('torch')}"
        for semantics in ("namecheck", "torch-2.12"):
            words = ("-m", "tests.conformance", CASES, "--side", "runtime")
            outcome = of_run(
                f"{name}, {semantics}", environment.run(*words, "--semantics", semantics)
            )
            counts = re.findall(r"^  (\w+) +(\d+)$", outcome.output, re.MULTILINE)
            if counts:
                summary = ", ".join(f"{number} {verdict}" for verdict, number in counts)
                outcome = replace(outcome, summary=summary)
            yield outcome
