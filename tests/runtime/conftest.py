"""The shim for the tests of one module: putting it on torch costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from namecheck.runtime import runtime


@pytest.fixture(scope="module")
def shim() -> Iterator[None]:
    """The names on torch, contradictions raised."""
    with runtime():
        yield
