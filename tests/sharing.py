"""Folders that one of the test processes makes, and all use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

_MADE: Final = "made"
_FAILED: Final = "failed"
_LONGEST: Final = 900


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that `make` fills, once in a run of the tests; the other processes wait for it."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # this one belongs to a single process
    folder, state = base / name, base / f"{name}.state"
    try:
        state.mkdir()
    except FileExistsError:
        _wait(state)
        return folder
    try:
        folder.mkdir()
        make(folder)
    except BaseException:
        (state / _FAILED).touch()
        raise
    (state / _MADE).touch()
    return folder


def _wait(state: Path) -> None:
    end = time.monotonic() + _LONGEST
    while not (state / _MADE).exists():
        assert not (state / _FAILED).exists(), "another process could not make it"
        assert time.monotonic() < end, "another process does not finish it"
        time.sleep(0.1)
