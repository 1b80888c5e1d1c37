"""What hostile programs cost grows with their size and no faster, and each is judged to its end."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Final

import pytest

from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings
from namecheck.project.suppression import suppress
from tests.benchmarks.hostile import HEAD, TAIL
from tests.benchmarks.hostile_growth import PROGRAMS

# Calls of Python functions, and of what is built in: a third of a microsecond each.
_MOST: Final = 12_000_000


class _TooMany(BaseException):
    """A check costs more than any may."""


def cost(text: str) -> tuple[int, list[str]]:
    """The number of calls that a check makes, and the codes of its findings."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1
            if calls > _MOST:
                sys.setprofile(None)
                raise _TooMany

    settings = Settings()
    sys.setprofile(count)
    try:
        outcome = Checker().text(text.encode(), "hostile.py", settings, parses=True, leads=True)
        assert outcome.comments is not None
        findings = suppress(outcome.comments, outcome.findings, settings.selected)
    finally:
        sys.setprofile(None)
    return calls, [finding.code for finding in findings]


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.endswith("shared")])
def test_what_is_shared_is_visited_once(name: str) -> None:
    make, sizes = PROGRAMS[name]
    _, codes = cost(f"{HEAD}{make(sizes[2])}{TAIL}")
    assert "NC103" in codes
    assert "NC005" not in codes
