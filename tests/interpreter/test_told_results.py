"""Far from the code that is judged, a declared result tells what a call gives."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

from namecheck import project
from namecheck.interpreter.evaluation import told_results
from namecheck.project import Walk
from tests.interpreter.test_summaries import runs
from tests.interpreting import check, codes, notes

DEEP = """
from jaxtyping import Bool, Float
from torch import Tensor

from namecheck import reveal_names


def inner(x: Float[Tensor, "n d"]) -> Float[Tensor, "d n"]:
    {inner}


def third(x: Float[Tensor, "n d"]):
    y = inner(x)
    {third}
    return y


def second(x: Float[Tensor, "n d"]):
    return third(x.double())


def first(x: Float[Tensor, "n d"]):
    return second(x)
"""


def test_a_call_far_from_the_function_that_is_judged_is_not_followed() -> None:
    source = DEEP.format(inner="return x.T", third="")
    assert runs(source, "inner") == 1
    with mock.patch.object(told_results, "_FAR", 99):
        assert runs(source, "inner") == 2


def test_the_declared_dims_are_those_of_the_call() -> None:
    source = DEEP.format(inner="return x.T", third="reveal_names(y)")
    assert set(notes(source)) == {"d n"}


def test_a_mistake_in_the_use_of_a_told_result_is_found() -> None:
    check(DEEP.format(inner="return x.T", third="x + y  # BUG"))


def test_a_wrong_dtype_is_reported_in_its_function_alone() -> None:
    declared = DEEP.replace('-> Float[Tensor, "d n"]', '-> Bool[Tensor, "d n"]')
    source = declared.format(
        inner="return x.T.float()", third="table = torch.zeros(4, 4); table[:] = y"
    )
    assert codes(source) == ["NC301"]


SCANS = """
from collections.abc import Iterator
from dataclasses import dataclass
from jaxtyping import Float
from torch import Tensor
import torch


@dataclass
class Scan:
    points: Float[Tensor, "points xyz"]
    weights: Float[Tensor, "points"]


def scans(folder) -> Iterator[Scan]:
    for path in folder:
        yield load(path)


def load(path) -> Scan:
    return Scan(torch.load(path), torch.load(path))
"""
BETWEEN = """
from scans import load, scans


def loaded(path):
    return load(path)


def weighed(folder):
    result = 0
    for scan in scans(folder):
        result = result + scan.points * {weights}
    return result
"""
MAIN = """
import torch
from jaxtyping import Float
from between import loaded, weighed


def show(path):
    scan = loaded(path)
    return scan.points + {weights}
"""


def test_a_class_with_declared_fields_tells_a_result(tmp_path: Path) -> None:
    assert found(tmp_path, "scan.weights[:, None]", "scan.weights[:, None]") == []
    assert found(tmp_path, "scan.weights", "scan.weights[:, None]") == ["between.py"]
    assert found(tmp_path, "scan.weights[:, None]", "scan.weights") == ["main.py"]


def found(folder: Path, between: str, main: str) -> list[str]:
    """The files with a finding."""
    (folder / "scans.py").write_text(SCANS)
    (folder / "between.py").write_text(BETWEEN.format(weights=between))
    (folder / "main.py").write_text(MAIN.format(weights=main))
    result = project.check(Walk().entries([str(folder)]))
    return sorted({Path(finding.filename).name for finding in result.findings})
