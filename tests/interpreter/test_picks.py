"""Picked addresses: which are equal, also after they were compared."""

from __future__ import annotations

from namecheck.interpreter.domain.values import ListValue, Picked


def chain(length: int, start: int = 1) -> Picked:
    """A pick of a pick of …, with this number of picks."""
    address: int | Picked = start
    for step in range(length):
        address = Picked([ListValue(address, ())], step, step)
    assert isinstance(address, Picked)
    return address


def test_equal_chains() -> None:
    one, other = chain(20), chain(20)
    assert one == other
    assert one == other
    assert hash(one) == hash(other)


def test_other_chains() -> None:
    assert chain(20) != chain(19)
    assert chain(20) != chain(20, start=2)


def test_equality_is_transitive_after_comparisons() -> None:
    one, two, three, other = chain(5), chain(5), chain(5), chain(5, start=2)
    assert one == two
    assert two == three
    assert one == three
    assert all(pick != other for pick in (one, two, three))
