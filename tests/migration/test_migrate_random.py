"""Random programs compute the same values after either migration, or their places are listed."""

from __future__ import annotations

import os

from tests.migrate_random import compared

SEED = os.environ.get("NAMECHECK_SEED", "0")
COUNT = 24


def test_random_programs_leave_the_same_values() -> None:
    print(f"seed {SEED}: python -m tests.migrate_random --seed {SEED} --count {COUNT}")
    programs = list(compared(SEED, 0, COUNT))
    wrong = [one.show() for one in programs if one.differs]
    assert not wrong, "\n\n".join(wrong)
    assert sum(bool(one.compared) for one in programs) > COUNT / 2
