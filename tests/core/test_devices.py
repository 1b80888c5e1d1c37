"""Devices as a lattice: join, meet, what one covers, and which two certainly differ."""

from __future__ import annotations

from typing import Final

import pytest

from namecheck.core.devices import CPU, META, Chosen, Device, covers, differ, join, meet, show
from namecheck.core.names import UNKNOWN

# `"cuda" if torch.cuda.is_available() else "cpu"`
CHOSEN: Final = Chosen((("cuda", (("available", True),)), (CPU, ())))


@pytest.mark.parametrize(
    ("device", "other", "least"),
    [
        (CPU, CPU, CPU),
        (CPU, META, frozenset({CPU, META})),
        (CPU, UNKNOWN, UNKNOWN),
        (frozenset({CPU, "cuda:0"}), frozenset({"cuda:1", "cuda:2", META}), UNKNOWN),
    ],
)
def test_a_join_covers_both(device: Device, other: Device, least: Device) -> None:
    assert join(device, other) == join(other, device) == least
    assert covers(least, device)
    assert covers(least, other)


def test_a_device_without_index_covers_those_with_one() -> None:
    assert covers("cuda", "cuda:1")
    assert not covers("cuda:1", "cuda")
    assert covers(CHOSEN, "cuda:0")
    assert not covers(CPU, CHOSEN)


def test_a_meet_is_the_device_that_says_more() -> None:
    assert meet("cuda", "cuda:1") == meet("cuda:1", "cuda") == "cuda:1"
    assert meet("cuda:0", "cuda:1") is UNKNOWN
    assert meet(CPU, UNKNOWN) is UNKNOWN


@pytest.mark.parametrize(
    ("device", "other", "certain"),
    [
        (CPU, "cuda", True),
        ("cuda", "cuda:1", False),
        ("cuda:0", "cuda:1", True),
        (CPU, UNKNOWN, False),
        (CPU, CHOSEN, True),  # on a machine with a cuda device
        ("cuda", CHOSEN, False),
        (CHOSEN, CHOSEN, False),
        (frozenset({CPU, META}), META, False),
    ],
)
def test_two_devices_differ_only_where_that_is_certain(
    device: Device, other: Device, certain: bool
) -> None:
    assert differ(device, other) is differ(other, device) is certain


def test_a_choice_is_shown_as_one() -> None:
    assert show(CHOSEN) == "cuda or cpu"
    assert show(frozenset({META, CPU})) == "cpu or meta"
    assert show(UNKNOWN) == ""
