"""Sizes with symbols: sums, quotients and comparisons."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namecheck.core import dims
from namecheck.core.faults import Exhausted
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import (
    Expression,
    Known,
    divided,
    listed,
    same,
    substituted,
    symbol,
    symbols,
)

D, H, S, T = map(symbol, "dhst")

knowns = st.recursive(
    st.one_of(st.integers(-3, 5), st.sampled_from([D, H, S, T])),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.integers(1, 4)).map(lambda pair: divided(*pair)),
        st.tuples(inner, st.sampled_from([D, H])).map(lambda pair: divided(*pair)),
    ),
    max_leaves=5,
)
assignments = st.fixed_dictionaries({name: st.integers(1, 7) for name in "dhst"})


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (T + S, "s+t"),
        (2 * D, "2*d"),
        (T - 1, "t-1"),
        (1 - T, "1-t"),
        (H * D // H, "d"),
        (D // 2, "d//2"),
        (D - D // 2 + D // 2, "d"),
        ((H * D - D) // D, "h-1"),
        ((2 * D + 1) // 2, "d"),
        ((T + S) // D, "(s+t)//d"),
        ((2 * D + T) % 2, "t-2*t//2"),
        (-D, "-d"),
        (3 * D // 2, "d+d//2"),
    ],
)
def test_one_form_of_an_expression(size: Known, text: str) -> None:
    assert str(size) == text


def test_what_has_no_symbol_left_is_a_number() -> None:
    assert (D + 3) - D == 3
    assert isinstance((D + 3) - D, int)
    assert (2 * D) % 2 == 0
    assert D // D == 1
    assert isinstance(2 * D, Expression)


def test_equal_expressions_are_equal_values() -> None:
    assert T + S == S + T
    assert hash(H * D) == hash(D * H)
    assert (D + 1) * (D - 1) == D * D - 1


@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [
        (T + S, T, False),
        (T - 1, T, False),
        (2 * D, D, False),
        (T, S, None),
        (D, 5, None),
        (D - 1, 0, None),
        (D, 0, False),
        (H * D, D, None),
        (2 * D - 2 * (D // 2), 0, False),
        (D - D // 2, -1, False),
        (D // 2, D, None),
        (T + S, S + T, True),
        (3, 3, True),
        (3, 4, False),
    ],
)
def test_what_can_be_told_of_two_sizes(left: Known, right: Known, answer: bool | None) -> None:
    assert same(left, right) is answer
    assert same(right, left) is answer


@given(knowns, knowns, assignments)
def test_what_is_told_holds_for_all_sizes(left: Known, right: Known, at: dict[str, int]) -> None:
    try:
        one, other = substituted(left, at), substituted(right, at)
    except ZeroDivisionError:
        return
    answer = same(left, right)
    assert answer is None or answer is (one == other)


@given(knowns, knowns, assignments)
def test_arithmetic_commutes_with_substitution(
    left: Known, right: Known, at: dict[str, int]
) -> None:
    one, other = substituted(left, at), substituted(right, at)
    assert substituted(left + right, at) == one + other
    assert substituted(left * right, at) == one * other
    assert substituted(left - right, at) == one - other
    assert substituted(divided(left, 3), at) == divided(one, 3)


def test_symbols_of_quotients_count() -> None:
    assert symbols(T // D + 1) == {"t", "d"}
    assert symbols(4) == frozenset()
    assert substituted(T // D, {"t": 2 * D}) == 2


def test_division_by_zero_is_pythons() -> None:
    with pytest.raises(ZeroDivisionError):
        divided(D, 0)


def again_and_again(size: Known, step: Callable[[Known], Known]) -> None:
    for _ in range(40):
        size = step(size)


@pytest.mark.parametrize(
    "step",
    [
        lambda size: size * size,
        lambda size: (size + D) // (size * H + 2) + size,
        lambda size: size * 2**62,
        lambda size: size + size * size % (S + 1),
    ],
)
def test_what_is_too_long_is_not_computed(step: Callable[[Known], Known]) -> None:
    with pytest.raises(Exhausted):
        again_and_again(D // H + S + T, step)


def test_a_product_that_is_too_large_is_unknown() -> None:
    assert dims.product([1 << 62] * 3) == 1 << 186
    assert dims.product([1 << 62] * 40) is UNKNOWN
    assert dims.added([1 << 2_000, 1]) is UNKNOWN
    assert dims.product([symbol("a"), 1 << 2_000]) is UNKNOWN


def test_messages_show_an_unknown_size_as_a_question_mark() -> None:
    assert f"{UNKNOWN}" == "?"
    assert listed([3, symbol("C"), UNKNOWN]) == "[3, C, ?]"
