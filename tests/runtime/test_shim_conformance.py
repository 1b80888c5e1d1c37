"""The recorded results of native torch, and the same calls under the shim."""

from __future__ import annotations

import gzip
import itertools

import pytest
import torch

from namecheck.core.semantics import Semantics
from tests import conformance
from tests.conformance import ConformanceError, Report
from tests.conformance.deviations import load
from tests.conformance.test_conformance import DEVIATIONS, EVERYDAY, FIXTURES


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A third of the calls: the rules themselves are tested with all of them."""
    part = tmp_path_factory.mktemp("recorded") / "golden.jsonl"
    with gzip.open(EVERYDAY, "rt", encoding="utf-8") as lines:
        part.write_text("".join(itertools.islice(lines, 0, None, 3)), "utf-8")
    return conformance.run(part, "runtime", Semantics.NATIVE)


@pytest.fixture(scope="module")
def ours() -> Report:
    return conformance.run(EVERYDAY, "runtime", deviations=DEVIATIONS)


def test_native_semantics_agrees_with_native_torch(native: Report) -> None:
    assert native.cases == 3311
    assert native.to_json()["disagree"] == []
    assert [judgement.case.id for judgement in native.unknown] == []


def test_every_difference_of_our_semantics_is_listed(ours: Report) -> None:
    assert ours.to_json()["disagree"] == []


def test_every_listed_difference_is_shown(ours: Report) -> None:
    for entry in load(DEVIATIONS):
        shown = entry.shown_by in ours.explained.get(entry.name, ())
        assert shown or (FIXTURES / entry.shown_by).is_file(), f"[{entry.name}]: {entry.shown_by}"


@pytest.mark.skipif(hasattr(torch.Tensor, "refine_names"), reason="this torch has names")
def test_the_native_side_needs_a_torch_that_has_names() -> None:
    with pytest.raises(ConformanceError, match="needs a torch that has named tensors"):
        conformance.run(EVERYDAY, "native", Semantics.NATIVE)


@pytest.mark.skipif(not hasattr(torch.Tensor, "refine_names"), reason="this torch has no names")
def test_native_torch_answers_as_recorded() -> None:
    report = conformance.run(EVERYDAY, "native", Semantics.NATIVE)
    assert (report.agree, report.to_json()["disagree"]) == (report.cases, [])
