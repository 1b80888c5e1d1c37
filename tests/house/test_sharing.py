"""The folder that all test processes share is made once, and a failure reaches all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sharing import shared


def test_a_folder_is_made_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    calls: list[Path] = []

    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "file").touch()

    first = shared(tmp_path_factory, "test_sharing_once", make)
    assert shared(tmp_path_factory, "test_sharing_once", make) == first
    assert (calls, [path.name for path in first.iterdir()]) == ([first], ["file"])


def test_a_failure_is_one_of_all_processes(tmp_path_factory: pytest.TempPathFactory) -> None:
    def make(folder: Path) -> None:
        raise OSError(folder)

    with pytest.raises(OSError, match="test_sharing_failure"):
        shared(tmp_path_factory, "test_sharing_failure", make)
    with pytest.raises(AssertionError, match="could not make it"):
        shared(tmp_path_factory, "test_sharing_failure", make)
