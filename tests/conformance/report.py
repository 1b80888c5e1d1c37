"""The outcome of a conformance run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from namecheck.core.semantics import Semantics
from tests.conformance.deviations import Deviation, explain
from tests.conformance.verdicts import Judgement, Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """The number of recorded calls that agree, and every call that does not.

    `explained` has the ids of the calls that each listed deviation covers.
    """

    side: str
    semantics: Semantics
    cases: int
    agree: int
    unknown: Sequence[Judgement]
    disagree: Sequence[Judgement]
    explained: Mapping[str, Sequence[str]]

    @property
    def deviations(self) -> int:
        """The number of differences that a listed deviation covers."""
        return sum(map(len, self.explained.values()))

    def to_json(self) -> dict[str, Any]:
        """The report as JSON objects."""
        return {
            "side": self.side,
            "semantics": self.semantics.value,
            "cases": self.cases,
            "agree": self.agree,
            "deviations": self.deviations,
            "unknown": len(self.unknown),
            "disagree": [
                {
                    "id": judgement.case.id,
                    "op": judgement.case.op,
                    "expected": judgement.expected,
                    "got": judgement.got,
                }
                for judgement in self.disagree
            ],
        }

    def text(self) -> str:
        """The report for a reader: the counts, then every disagreement."""
        counts = {
            "agree": self.agree,
            "deviations": self.deviations,
            "unknown": len(self.unknown),
            "disagree": len(self.disagree),
        }
        lines = [f"{self.cases} recorded calls, side {self.side}, semantics {self.semantics.value}"]
        lines += [f"  {word:<10} {count:>6}" for word, count in counts.items()]
        for judgement in self.disagree:
            lines.append(f"{judgement.case.id} {judgement.case.op}")
            lines.append(f"  expected {judgement.expected_text}")
            lines.append(f"  got      {judgement.got_text}")
        return "\n".join(lines)


def tally(
    side: str,
    semantics: Semantics,
    judgements: Iterable[Judgement],
    deviations: Sequence[Deviation],
) -> Report:
    """Count the verdicts; a difference that a deviation covers is no disagreement."""
    cases = agree = 0
    unknown: list[Judgement] = []
    disagree: list[Judgement] = []
    explained: dict[str, list[str]] = {}
    for judgement in judgements:
        cases += 1
        if judgement.verdict is Verdict.AGREE:
            agree += 1
        elif judgement.differs and (entry := explain(deviations, judgement)):
            explained.setdefault(entry.name, []).append(judgement.case.id)
        elif judgement.verdict is Verdict.UNKNOWN:
            unknown.append(judgement)
        else:
            disagree.append(judgement)
    return Report(side, semantics, cases, agree, unknown, disagree, explained)
