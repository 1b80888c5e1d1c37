"""Calls that go deep."""

from __future__ import annotations

import sys

import pytest

from namecheck.core.call_stack import deeply


def _down(depth: int) -> int:
    return depth if depth == 0 else _down(depth - 1)


def test_a_call_may_go_deep() -> None:
    assert deeply(lambda: _down(8_000)) == 0


def test_the_limit_is_restored() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        deeply(lambda: _down(1_000_000))
    assert sys.getrecursionlimit() == limit


def test_what_a_call_raises_is_raised() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        deeply(fail)
