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


def test_a_shared_chain_is_compared_once() -> None:
    """Two values in each pick refer to the pick below: without sharing, 2**30 comparisons."""

    def doubled() -> Picked:
        address: int | Picked = 1
        for step in range(30):
            values = [ListValue(address, (), "list"), ListValue(address, (), "set")]
            address = Picked(values, step, step)
        assert isinstance(address, Picked)
        assert address.of, "the chain is too long to be followed back"
        return address

    assert doubled() == doubled()
