"""The verdicts on findings in released packages, each given after reading the code.

`verdicts.jsonl` has one object a line: the package with its version, the place and the code of the
finding, the verdict (true: the code contradicts its own declaration; false: a defect of namecheck;
unsure) and the reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real_code.archives import normalised
from tests.real_code.outcomes import Place

FILE: Final = Path(__file__).parent / "verdicts.jsonl"
WORDS: Final = ("true", "false", "unsure")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one finding."""

    package: str
    version: str
    file: str
    line: int
    code: str
    verdict: str
    why: str


class Verdicts:
    """All verdicts, by the finding that they are about."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        self._words = {
            (normalised(v.package), v.version, v.file, v.line, v.code): v.verdict for v in verdicts
        }

    def of(self, package: str, version: str, place: Place) -> str | None:
        """The verdict on a finding: a word of `WORDS`, None if nobody has judged it."""
        name = normalised(package.partition("==")[0])
        return self._words.get((name, version, place.file, place.line, place.code))


def stored() -> list[Verdict]:
    """The verdicts of the data file."""
    lines = FILE.read_text("utf-8").splitlines()
    return [Verdict(**json.loads(line)) for line in lines]
