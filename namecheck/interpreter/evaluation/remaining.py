"""What a test leaves of the constants and types that a value may be (`domain.candidates`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from namecheck.interpreter.domain import identities
from namecheck.interpreter.domain.candidates import AnyOf, Candidate, equals, of_truth, of_type
from namecheck.interpreter.domain.cells import (
    MOST_CANDIDATES,
    BoundsOf,
    CandidatesOf,
    ConstantOf,
    LayerTest,
    TensorTest,
    Truth,
)
from namecheck.interpreter.domain.provenance import Operation
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Const, External, Key, Value

_TENSOR: Final = External("torch.Tensor")
_LAYERS: Final = "torch.nn."


def learn_among(opaque: Key, listed_values: tuple[Value, ...], truth: bool, store: Store) -> None:
    """An opaque value is, or is not, one of these constants."""
    among = _candidates(opaque, store)
    if truth:
        among = listed_values if among is None else tuple(_meant(among, listed_values, store))
    else:
        for item in listed_values:
            store.set(Truth(identities.equality_of(opaque, item)), False)
        among = among and tuple(
            item
            for item in among
            if not any(equals(item, value, store) is True for value in listed_values)
        )
    _leave(opaque, among, store)


def _meant(
    among: tuple[Candidate, ...], listed_values: tuple[Value, ...], store: Store
) -> Iterator[Candidate]:
    """The candidates that a value may be if it equals one of these: of a type, the value itself."""
    for value in listed_values:
        for candidate in among:
            if equals(candidate, value, store) is not False:
                yield value if isinstance(candidate, AnyOf) else candidate


def _candidates(opaque: Key, store: Store) -> tuple[Candidate, ...] | None:
    """What an opaque value may be, by its declaration and the tests of it, or as a remainder."""
    among: tuple[Candidate, ...] | None = store.fact(CandidatesOf, opaque)
    match opaque.provenance:
        case Operation("Mod", (Key(), Const() as divisor)) if among is None:
            if type(divisor.value) is int and 1 < divisor.value <= MOST_CANDIDATES:
                return tuple(map(Const, range(divisor.value)))
    return among


def _leave(opaque: Key, among: tuple[Candidate, ...] | None, store: Store) -> None:
    """Write what an opaque value may still be."""
    if among:
        store.set(CandidatesOf(opaque), among)
        if among == (AnyOf(_TENSOR),):
            store.set(TensorTest(opaque), True)
        elif len(among) == 1 and not isinstance(among[0], AnyOf):
            store.set(ConstantOf(opaque), among[0])


def learn_type(key: Key, kind_value: object, store: Store, *, truth: bool = True) -> None:
    """Write what follows from an opaque value being of a type, or not."""
    if truth and isinstance(kind_value, External) and kind_value.path.startswith(_LAYERS):
        store.set(LayerTest(key), kind_value.path.removeprefix("torch."))
    among: tuple[Candidate, ...] | None = store.fact(CandidatesOf, key)
    if among is not None:
        _leave(key, of_type(among, kind_value, is_of_it=truth), store)


def learn_order(two: tuple[Hashable, Hashable], store: Store) -> None:
    """A number that is neither of less than, equal to and greater than a constant is the third."""
    if not any(isinstance(o, Const) and type(o.value) in (int, float) for o in two):
        return
    orders = [
        Key(Operation("Lt", two)),
        Key(Operation("Lt", (two[1], two[0]))),
        identities.equality_of(*two),
    ]
    others = [order for order in orders if store.fact(Truth, order) is not False]
    if len(others) == 1:
        store.set(Truth(others[0]), True)


def learn_bounds(opaque: Key, bounds: tuple[int | None, int | None], store: Store) -> None:
    """An opaque int is not less than the first bound, and not greater than the second one."""
    earlier_bounds: tuple[int | None, int | None] = store.fact(BoundsOf, opaque) or (None, None)
    lows, highs = (
        [b for b in pair if b is not None] for pair in zip(earlier_bounds, bounds, strict=True)
    )
    low, high = max(lows, default=None), min(highs, default=None)
    store.set(BoundsOf(opaque), (low, high))
    if low is not None and high is not None and high - low < MOST_CANDIDATES:
        learn_among(opaque, tuple(map(Const, range(low, high + 1))), True, store)


def learn_truth(opaque: Key, truth: bool, store: Store) -> None:
    """An opaque value is true, or it is not."""
    among: tuple[Candidate, ...] | None = store.fact(CandidatesOf, opaque)
    if among is not None:
        _leave(opaque, of_truth(among, truth=truth), store)
