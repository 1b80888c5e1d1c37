"""First-class dims (functorch.dim) have no names: a named tensor is refused, others work."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import namecheck
from namecheck.runtime import runtime
from tests.runtime.tensors import called, names

ROOT = Path(__file__).parents[2]
MODULE: Any = importlib.import_module("functorch.dim")  # it has no types
DIM: Any = MODULE.Dim


@pytest.fixture(autouse=True)
def shim() -> Iterator[None]:
    with runtime():
        yield


def matrix() -> Any:
    return torch.arange(6.0).view(2, 3)


def bound(tensor: Any) -> tuple[Any, Any, Any]:
    """A tensor with both dims bound, and the dims."""
    rows, columns = DIM("rows"), DIM("columns")
    return tensor[rows, columns], rows, columns


@pytest.mark.parametrize(
    "call",
    [
        lambda x, dim: x[dim],
        lambda x, dim: x[dim, 0],
        lambda x, dim: x[[dim, DIM("other")],],
        lambda x, dim: x.index(0, dim),
        lambda x, dim: x * dim,
        lambda x, dim: dim * x,
        lambda x, dim: torch.add(x, dim),
        lambda x, dim: torch.where(x > 0, x, dim),
        lambda x, dim: x.add(dim),
        lambda x, dim: torch.stack([x, x * 2])[DIM("first")],
        lambda x, dim: MODULE.stack([x, x], dim),
        lambda x, dim: MODULE.stack((x, matrix()), new_dim=DIM("first")),
        lambda x, dim: MODULE.split(x, [DIM("a"), DIM("b")], 0),
        lambda x, dim: x.__setitem__((DIM("a"), DIM("b")), bound(matrix())[0]),
        lambda x, dim: matrix()[dim] + x[0],
    ],
)
@pytest.mark.parametrize("remembered", [False, True])
def test_a_named_tensor_is_refused(call: Callable[..., Any], remembered: bool) -> None:
    x = called(matrix(), "N", "C")
    if remembered:  # a number has the same place in the memo
        x * 2, x + 1, torch.add(x, 1), x[0], x[0, 0]
    with pytest.raises(namecheck.NameMismatch, match="has no names") as raised:
        call(x, DIM("dim", 2))
    assert raised.value.finding.code == "NC120"
    assert raised.value.finding.filename == __file__
    assert names(x) == ("N", "C")


def test_tensors_without_names_have_first_class_dims() -> None:
    x, rows, columns = bound(matrix())
    assert torch.equal(x.order(columns, rows), matrix().t())
    assert torch.equal((x * 2 + 1).sum(rows).order(columns), (matrix() * 2 + 1).sum(0))
    ones: Any = torch.ones(2)
    added: Any = torch.add(x, rows)
    assert torch.equal(added.order(rows, columns), matrix() + torch.tensor([[0], [1]]))
    assert torch.equal((x * ones[rows]).sum(rows).order(columns), matrix().sum(0))
    named: Any = x.order(rows, columns)
    called(named, "N", "C")
    assert names(named.sum("N")) == ("C",)
    first = DIM("first")
    assert torch.equal(MODULE.stack([ones, ones], first).sum(first), ones * 2)


def test_a_call_without_first_class_dims_keeps_names() -> None:
    x = called(matrix(), "N", "C")
    assert names(MODULE.stack([x, x], 0)) == (None, "N", "C")


def test_another_mode_drops_the_names() -> None:
    with runtime("record") as record:
        x, rows, columns = bound(called(matrix(), "N", "C"))
        assert torch.equal(x.order(columns, rows), matrix().t())
    assert [finding.code for finding in record.findings] == ["NC120"]


LATE = """
import torch, namecheck.runtime
namecheck.runtime.install()
from functorch.dim import dims
x = torch.rand(2, 3, names=("N", "C"))
rows, columns = dims(2)
assert not hasattr(torch.rand(2, 3)[rows], "rename")
try:
    x[rows, columns]
except namecheck.runtime.NameMismatch:
    namecheck.runtime.uninstall()
else:
    raise AssertionError("dropped")
assert x[rows, columns].order(columns, rows).shape == (3, 2)
"""


def test_the_module_may_be_imported_after_the_installation() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LATE], cwd=ROOT, text=True, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr
