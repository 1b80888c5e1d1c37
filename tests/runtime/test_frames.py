"""Finished frames are released: a frame that outlives its call keeps its callers' objects alive.

While torch prints a tensor, a local of its frame switches functorch off; if the frame stays alive,
functorch stays off.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
import torch
import torch._dynamo  # its import leaves frames of its own

from namecheck.core.semantics import Semantics
from namecheck.runtime import runtime
from tests.conformance import live
from tests.conformance.cases import read
from tests.conformance.test_conformance import EVERYDAY
from tests.runtime.tensors import named


@contextmanager
def garbage() -> Iterator[list[object]]:
    """In a block, the objects that only the cycle collector can free; filled at its end."""
    gc.collect()
    enabled, found = gc.isenabled(), list[object]()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        if enabled:
            gc.enable()


def frames(found: list[object]) -> list[str]:
    return [repr(each) for each in found if isinstance(each, FrameType)]


def test_a_frame_in_a_cycle_is_seen() -> None:
    def keep() -> None:
        try:
            raise ValueError
        except ValueError as error:
            kept = error
        assert kept is not None

    with garbage() as found:
        keep()
    assert any("keep" in each for each in frames(found))


@pytest.mark.parametrize("semantics", Semantics)
def test_no_recorded_call_leaves_a_frame(semantics: Semantics) -> None:
    cases = list(read(EVERYDAY))[::8]
    with runtime(semantics=semantics), garbage() as found:
        live.see(cases, native=False)
    assert frames(found) == []


def test_an_overload_that_does_not_fit_leaves_no_frame() -> None:
    with runtime(), garbage() as found:
        named("N").sum((0,), dtype=torch.float64)
        named("N").to(torch.float64)
        named("N").to(dtype=torch.float64)
    assert frames(found) == []
