"""The conditions of a row: they hold, do not hold, or depend on what is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN, Answer
from namecheck.core.tensors import SOME_NUMBERS, Constant, Many, Tensor
from namecheck.effects import conditions
from namecheck.effects.words import Condition, WordError, read_subject

MATRIX = Tensor(Dims.of("N", "C", sizes=(2, 3)))
VECTOR = Tensor(Dims.of("N", sizes=(2,)))
EMPTY = Tensor(Dims.of("N", None, sizes=(UNKNOWN, 0)))
BARE = Tensor(Dims.of(None, None, sizes=(2, 3)))


def read(text: str) -> Condition:
    """A condition, as a row has it."""
    condition = read_subject(f"input if {text}").condition
    assert condition is not None
    conditions.check(condition)
    return condition


@pytest.mark.parametrize(
    ("text", "holds", "fails"),
    [
        ("dim = None", {"dim": None}, {"dim": 0}),
        ("dim != None", {"dim": 0}, {"dim": None}),
        ("flag", {"flag": True}, {"flag": False}),
        ("flag", {"flag": 2}, {"flag": None}),
        ("flag != False", {"flag": None}, {"flag": False}),
        ("flag = True", {"flag": True}, {"flag": 1}),
        ("0 < p < 1", {"p": 0.5}, {"p": 1.0}),
        ("0 < p", {"p": True}, {"p": False}),
        ("p != 0 or q != 0", {"p": 0, "q": 1}, {"p": 0, "q": 0}),
        ("p = 1 and q = 1", {"p": 1, "q": 1}, {"p": 1, "q": 0}),
        ("p = 1 or p = 2 and q = 1", {"p": 1, "q": 0}, {"p": 2, "q": 0}),
        ("low < -0.99", {"low": -1}, {"low": -0.99}),
        ("mode = 'mean'", {"mode": "mean"}, {"mode": "sum"}),
        ("device = 'meta'", {"device": Constant("device", "meta")}, {"device": "cpu"}),
        ("dim = last(other)", {"dim": 1, "other": BARE}, {"dim": 0, "other": BARE}),
        ("first(other) != None", {"other": MATRIX}, {"other": BARE}),
        ("rank(other) = 1", {"other": VECTOR}, {"other": BARE}),
        ("min_rank(other) > 1", {"other": BARE}, {"other": VECTOR}),
        ("numel(other) = 2", {"other": VECTOR}, {"other": BARE}),
        ("numel(size) != 1", {"size": (1, 2)}, {"size": (1, 1)}),
        ("count(others) > 1", {"others": (BARE, BARE)}, {"others": (BARE,)}),
        ("numel(other) = 0", {"other": EMPTY}, {"other": BARE}),
        ("is_meta(other)", {"other": replace(BARE, device="meta")}, {"other": BARE}),
        ("is_tensor(other)", {"other": BARE}, {"other": 2}),
    ],
)
def test_a_condition(text: str, holds: dict[str, Any], fails: dict[str, Any]) -> None:
    condition = read(text)
    assert conditions.answer(condition, holds) is Answer.YES
    assert conditions.answer(condition, fails) is Answer.NO
    assert conditions.holds(condition, holds)
    assert not conditions.holds(condition, fails)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("flag", {"flag": UNKNOWN}),
        ("flag", {"flag": SOME_NUMBERS["bool"]}),
        ("flag", {"flag": "text"}),
        ("p < 2", {"p": SOME_NUMBERS["float"]}),
        ("p < 2", {"p": "1"}),
        ("dim = None", {"dim": UNKNOWN}),
        ("p = 1 and q = 1", {"p": 1, "q": UNKNOWN}),
        ("p = 1 or q = 1", {"p": 0, "q": UNKNOWN}),
        ("rank(other) = 1", {"other": Tensor()}),
        ("dim = last(other)", {"dim": 0, "other": Tensor()}),
        ("first(other) != None", {"other": Tensor()}),
        ("min_rank(other) > 1", {"other": UNKNOWN}),
        ("numel(other) = 2", {"other": Tensor()}),
        ("count(others) > 1", {"others": Many(BARE)}),
        ("is_tensor(other)", {"other": UNKNOWN}),
    ],
)
def test_what_is_unknown_decides_nothing(text: str, arguments: dict[str, Any]) -> None:
    assert conditions.answer(read(text), arguments) is Answer.MAYBE


def test_one_known_part_may_decide() -> None:
    assert not conditions.holds(read("p = 1 and q = 1"), {"p": 0, "q": UNKNOWN})
    assert conditions.answer(read("p = 1 and q = 1"), {"p": 0, "q": UNKNOWN}) is Answer.NO
    assert conditions.answer(read("p = 1 or q = 1"), {"p": 1, "q": UNKNOWN}) is Answer.YES


def test_the_parameters_of_a_condition() -> None:
    assert read("dim = last(other) or p < 1 and flag").parameters == {"dim", "other", "p", "flag"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks(a) = 1", "unknown measure 'ranks'; the measures are rank, min_rank, last, first"),
        ("rank(a, b) = 1", "'rank' measures one parameter"),
        ("rank(a) >= 1", "'=' is misplaced"),
        ("rank(a", "breaks off"),
        ("= 1", "'=' is misplaced"),
        ("a and", "breaks off"),
        ("a b", "'b' is misplaced"),
        ("a[0] = 1", "'[' is misplaced"),
        ("a - 1 = 1", "is not a word"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, message: str) -> None:
    with pytest.raises(WordError) as raised:
        read(text)
    assert message in str(raised.value)
