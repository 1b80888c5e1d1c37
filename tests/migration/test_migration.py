"""Programs with native named tensors, migrated to either target, print the same on torch 2.13.

The files fixtures/migration/*.txt have the output on torch 2.12.1 (tests/oracle/
record_migration.py). A line that ends with ``# left: reason`` has a place that is left.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import torch

from namecheck import project
from namecheck.migration.migrated import Migrated
from namecheck.migration.migration import Road, migrate
from namecheck.project import Walk
from namecheck.runtime import shim

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "migration"
PROGRAMS: Final = sorted(FOLDER.glob("*.py"))
LEFT: Final = re.compile(r"# left: (.*)$")

program = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


def expected_left(text: str) -> dict[int, str]:
    """The reasons in the marks of a program, by line."""
    marks = ((n, LEFT.search(line)) for n, line in enumerate(text.splitlines(), 1))
    return {number: mark[1] for number, mark in marks if mark is not None}


@functools.cache
def migrated(path: Path, road: Road) -> Migrated:
    [one] = migrate(Walk().entries([str(path)]), road)
    assert one.failure is None
    return one


@pytest.fixture
def plain_torch() -> Iterator[None]:
    """A torch without names before and after the test."""
    assert not hasattr(torch.Tensor, "refine_names")
    yield
    if hasattr(torch.Tensor, "refine_names"):
        shim.uninstall()


def printed(text: str, path: Path) -> str:
    """The output of a program."""
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    output = io.StringIO()
    torch.manual_seed(0)
    kept = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        with contextlib.redirect_stdout(output), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, path, "exec"), module.__dict__)
    finally:
        sys.modules["__main__"] = kept
    return output.getvalue()


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 40


@program
@pytest.mark.usefixtures("plain_torch")
def test_to_torch(path: Path) -> None:
    one = migrated(path, Road.TORCH)
    assert one.before is not None
    assert one.after is not None
    left = {place.span.line: place.reason for place in one.left}
    assert left == expected_left(one.before.text)
    if not left:
        assert printed(one.after.text, path) == path.with_suffix(".txt").read_text()


@program
@pytest.mark.usefixtures("plain_torch")
def test_to_namecheck(path: Path) -> None:
    one = migrated(path, Road.NAMECHECK)
    assert one.after is not None
    assert one.changed
    assert printed(one.after.text, path) == path.with_suffix(".txt").read_text()


@program
@pytest.mark.parametrize("road", Road, ids=lambda road: road.value)
def test_twice_changes_nothing_more(path: Path, road: Road, tmp_path: Path) -> None:
    one = migrated(path, road)
    assert one.after is not None
    again = tmp_path / path.name
    again.write_bytes(one.after.data)
    for second in migrate(Walk().entries([str(again)]), road):
        assert not second.changed


@program
def test_the_result_has_no_finding_more(path: Path, tmp_path: Path) -> None:
    one = migrated(path, Road.TORCH)
    assert one.after is not None
    if one.left:
        return
    after = tmp_path / path.name
    after.write_bytes(one.after.data)
    assert not project.check(Walk().entries([str(after)]), jobs=1).findings


@program
@pytest.mark.parametrize("road", Road, ids=lambda road: road.value)
def test_what_is_not_rewritten_stays(path: Path, road: Road) -> None:
    """Lines without names, and comments, are unchanged and in the same order."""
    one = migrated(path, road)
    assert one.before is not None
    assert one.after is not None
    before, after = one.before.text.splitlines(), one.after.text.splitlines()
    comments = [line.partition("#")[2] for line in before if "#" in line]
    assert [line.partition("#")[2] for line in after if "#" in line] == comments
