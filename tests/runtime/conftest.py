"""The shim for the tests of one module: installing it costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from namecheck.runtime import runtime


@pytest.fixture(scope="module")
def shim() -> Iterator[None]:
    """Names installed on torch; contradictions raise."""
    with runtime():
        yield
