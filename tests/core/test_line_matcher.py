"""The lines of two versions are matched rightly, and at a cost that grows with their number."""

from __future__ import annotations

import difflib
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namecheck.core.line_matcher import LineMatcher

texts = st.lists(st.sampled_from("aabbcdefgh"), max_size=30)


@given(texts, texts)
def test_blocks_are_equal_stretches_in_order(old: list[str], new: list[str]) -> None:
    *blocks, last = LineMatcher(old, new).get_matching_blocks()
    assert last == (len(old), len(new), 0)
    done, other_done = 0, 0
    for block in blocks:
        assert block.size > 0
        assert block.a >= done
        assert block.b >= other_done
        done, other_done = block.a + block.size, block.b + block.size
        assert old[block.a : done] == new[block.b : other_done]


@given(texts, texts)
def test_the_changes_turn_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    for tag, i, i_end, j, j_end in LineMatcher(old, new).get_opcodes():
        made += old[i:i_end] if tag == "equal" else new[j:j_end]
    assert made == new


@given(texts, st.integers(0, 30), st.integers(0, 3), st.lists(st.just("new"), max_size=3))
def test_one_change_is_all_that_is_found(
    old: list[str], place: int, removed: int, added: list[str]
) -> None:
    new = [*old[:place], *added, *old[place + removed :]]
    blocks = LineMatcher(old, new).get_matching_blocks()
    assert sum(block.size for block in blocks) >= len(old) - removed


def test_a_line_that_was_moved_is_a_line_less_and_a_line_more() -> None:
    old = [f"line {number}" for number in range(1_000)]
    new = [*old[:10], *old[11:900], old[10], *old[900:]]
    changes = [code[0] for code in LineMatcher(old, new).get_opcodes() if code[0] != "equal"]
    assert changes == ["delete", "insert"]


def test_a_small_text_is_compared_as_difflib_does() -> None:
    old, new = ["b", "a", "b", "a", "b"], ["a", "a", "b", "b", "a"]
    expected = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    assert LineMatcher(old, new).get_opcodes() == expected


def calls(old: list[str], new: list[str]) -> int:
    """The number of calls that matching takes."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        LineMatcher(old, new).get_opcodes()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kinds", [1, 50])
def test_equal_lines_cost_no_more_than_others(kinds: int) -> None:
    costs = []
    for size in (1_000, 8_000):
        old = [f"# padding {number % kinds}" for number in range(size)]
        new = list(old)
        new[size // 4 : size // 4 + 1] = ["changed", "added"]
        new[size // 2] = "changed"
        costs.append(calls(old, new))
    assert costs[1] < 10 * costs[0]
