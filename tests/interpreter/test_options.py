"""What options of a function cost: what nothing tells apart, or nothing reads, is run once."""

from __future__ import annotations

import cProfile

from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings

_HEAD = """\
from typing import Annotated

import torch
from torch import Tensor


def forward(x: Annotated[Tensor, "batch time"], options: dict) -> Tensor:
"""
# Code after the options.
_MORE = "".join(f"    x = torch.relu(x) + x.exp() * {number}\n" for number in range(60))


def _calls(body: str) -> int:
    """How many Python functions the check of a program calls."""
    text = f"{_HEAD}{body}    return x\n".encode()
    checker = Checker()
    checker.text(text, "warm.py", Settings(), parses=True, leads=True)
    profiler = cProfile.Profile()
    with profiler:
        outcome = checker.text(text, "options.py", Settings(), parses=True, leads=True)
    assert not outcome.findings
    return sum(entry.callcount for entry in profiler.getstats())


def test_results_that_nothing_tells_apart_are_combined_once() -> None:
    more = "".join(f"    x = pair[0] * pair[1] * {number}\n" for number in range(60))
    either = "x.relu() if options[0] else x.exp(), x.relu() if options[1] else x.exp()"
    plain = "x.relu() + x.exp(), x.relu() + x.exp()"
    # Otherwise it costs four times as much.
    assert _calls(f"    pair = {either}\n{more}") < 1.5 * _calls(f"    pair = {plain}\n{more}")


def test_a_variable_that_nothing_reads_any_more_keeps_no_paths_apart() -> None:
    own = "    if options[0]:\n        own = x.relu()\n        x = x + own\n"
    none = "    if options[0]:\n        x = x + x.relu()\n"
    assert _calls(f"{own}{_MORE}") < 1.5 * _calls(f"{none}{_MORE}")


def test_a_variable_that_a_later_round_reads_keeps_paths_apart() -> None:
    text = """\
from typing import Annotated

import torch
from torch import Tensor


def forward(x: Annotated[Tensor, "batch time"], option: bool) -> Tensor:
    other = x
    for _ in (0, 1):
        x + other
        if option:
            other = x.T
    return x
"""
    outcome = Checker().text(text.encode(), "rounds.py", Settings(), parses=True, leads=True)
    assert [finding.code for finding in outcome.findings] == ["NC101"]
