"""The verdicts on findings in released packages, each given after reading the code.

`verdicts.jsonl` has one object a line: the package with its version, the place and the code of the
finding, the verdict (true: the code contradicts its own declaration; false: a defect of namecheck;
unsure) and the reason; whether it is still reported, and whether it was reported when the project
was looked at for the first time. `observed.jsonl` has those on findings in plain code, with
observed evidence, which are true if the code raises, or does not compute what it says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real_code.archives import normalised
from tests.real_code.outcomes import Place

FILE: Final = Path(__file__).parent / "verdicts.jsonl"
OBSERVED: Final = FILE.with_name("observed.jsonl")
WORDS: Final = ("true", "false", "unsure")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one finding.

    `reported` is False once namecheck is corrected; `first` tells whether the finding was there
    when the project was met for the first time, so that it counts for the precision on new code.
    """

    package: str
    version: str
    file: str
    line: int
    code: str
    verdict: str
    why: str
    reported: bool
    first: bool


class Verdicts:
    """All verdicts, by the finding that they are about."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        self._verdicts = {
            (normalised(v.package), v.version, v.file, v.line, v.code): v for v in verdicts
        }

    def of(self, package: str, version: str, place: Place) -> str | None:
        """The word of the verdict on a finding, None if nobody has read it."""
        verdict = self.on(package, version, place)
        return verdict.verdict if verdict else None

    def on(self, package: str, version: str, place: Place) -> Verdict | None:
        """The verdict on a finding, None if nobody has read it."""
        name = normalised(package.partition("==")[0])
        return self._verdicts.get((name, version, place.file, place.line, place.code))


def stored(file: Path = FILE) -> list[Verdict]:
    """The verdicts of a data file."""
    lines = file.read_text("utf-8").splitlines()
    return [Verdict(**json.loads(line)) for line in lines]
