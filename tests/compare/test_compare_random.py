"""Random programs: their runs contradict nothing inferred."""

from __future__ import annotations

import os
from collections import Counter

from namecheck.compare.join import Verdict
from tests.compare_random import compared

SEED = os.environ.get("NAMECHECK_SEED", "0")
COUNT = 60


def test_random_programs_agree() -> None:
    print(f"seed {SEED}: python -m tests.compare_random --seed {SEED} --count {COUNT}")
    programs = list(compared(SEED, 0, COUNT))
    wrong = [one.show() for one in programs if one.is_wrong]
    assert not wrong, "\n\n".join(wrong)
    verdicts = Counter(each.verdict for one in programs for each in one.joined)
    known = verdicts[Verdict.AGREE] / (verdicts.total() - verdicts[Verdict.UNREACHED])
    assert verdicts[Verdict.AGREE] > 8 * COUNT
    assert known > 0.95
