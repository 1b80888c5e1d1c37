"""Shared fixtures and the profiles of the property tests: ``--hypothesis-profile=long``."""

from __future__ import annotations

import gc
import os
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

# Tests run in two processes: torch leaves each of them one core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A gate that was built on this machine is used only where a run asks for it: CONTRIBUTING.md.
os.environ.setdefault("NAMECHECK_GATE", "off")

# Tests start programs as a user does, who finds the modules beside a script.
os.environ.pop("PYTHONSAFEPATH", None)
# They start hundreds of processes, each of which would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Drawn examples are sometimes rejected, and the machine may be busy.
_PATIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much]

settings.register_profile(
    "everyday", max_examples=20, derandomize=True, deadline=None, suppress_health_check=_PATIENT
)
settings.register_profile("long", max_examples=2_000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile("everyday")

TESTS: Final = Path(__file__).parent

# The tests of `pytest -m quick`: those that a contributor breaks most, in under a minute. Of a
# folder or file, every nth test is selected; unlisted files, and those with 0, are not even
# collected.
QUICK: Final = {
    "annotations": 1,
    "core": 1,
    "fixtures": 12,
    "house/test_contributing_pages.py": 1,
    "house/test_floors.py": 1,
    "house/test_words.py": 1,
    "interpreter": 1,
    "interpreter/test_growing_programs.py": 0,
    "laws": 8,
    "lints": 1,
    "operators": 1,
    "report": 1,
    "rules": 1,
}


# Those that take long run first, so that both processes end together.
FIRST: Final = ("house/test_style.py", "mypy_plugin", "runtime", "interpreter")


@cache
def place_of(path: Path) -> int:
    """The place of a file among those that run first; behind them for all others."""
    inside = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return next((n for n, place in enumerate(FIRST) if inside.startswith(place)), len(FIRST))


@cache
def share_of(path: Path) -> int:
    """One of this many tests of a file is quick; 0 where none is."""
    inside = path.relative_to(TESTS)
    places = (inside.as_posix(), *(folder.as_posix() for folder in inside.parents))
    return next((QUICK[place] for place in places if place in QUICK), 0)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m quick``, do not import files without quick tests."""
    if config.option.markexpr != "quick" or not collection_path.is_relative_to(TESTS):
        return None
    is_test = collection_path.name.startswith("test_")
    return True if is_test and not share_of(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests into their order, and mark the quick ones."""
    items.sort(key=lambda item: place_of(item.path))
    seen: dict[Path, int] = {}
    for item in items:
        number = seen[item.path] = seen.get(item.path, -1) + 1
        share = share_of(item.path) if item.path.is_relative_to(TESTS) else 0
        if share and not number % share:
            item.add_marker(pytest.mark.quick)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what is imported by now, which stays to the end."""
    gc.collect()
    gc.freeze()
