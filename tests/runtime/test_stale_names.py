"""Code that changes a tensor without its names: they follow, or are known to be unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import namecheck
from namecheck.runtime import runtime
from namecheck.runtime.core.tensor_names import names_of


@pytest.fixture(autouse=True)
def shim() -> Iterator[None]:
    with runtime():
        yield


def matrix() -> Any:
    tensor: Any = torch.arange(6.0).reshape(2, 3)
    return tensor.refine_names("N", "C")


def test_other_data_of_another_rank() -> None:
    x = matrix()
    x.data = torch.zeros(4)
    assert x.names == (None,)


def test_other_data_of_the_same_rank() -> None:
    x = matrix()
    x.data = torch.zeros(5, 6)
    assert x.names == ("N", "C")


def test_another_storage() -> None:
    x = matrix()
    x.set_(torch.zeros(3))
    assert x.names == (None,)


def test_a_named_tensor_is_not_resized() -> None:
    x = matrix()
    with pytest.raises(namecheck.NameMismatch, match="Cannot resize named tensor"):
        x.resize_(3, 2, 1)
    assert x.names == ("N", "C")


@pytest.mark.parametrize("remembered", [False, True])
def test_a_rank_that_changed_where_nobody_saw_it(remembered: bool) -> None:
    x = matrix()
    if remembered:
        assert x.sum("C").names == ("N",)
    torch.ops.aten.unsqueeze_(x, 0)
    assert names_of(x) == ("?", "?", "?")
    assert x.names == (x + 1).names == x.relu().names == (None, None, None)
    with pytest.raises(namecheck.NameMismatch, match="Name 'C' not found"):
        x.sum("C")


def test_what_bypasses_python_has_no_names() -> None:
    assert torch.ops.aten.relu(matrix()).names == (None, None)


def test_in_place_moves_take_the_names_along() -> None:
    x = matrix()
    assert x.t_().names == ("C", "N")
    assert x.unsqueeze_(0).names == (None, "C", "N")
    assert x.squeeze_(0).names == ("C", "N")
    assert x.transpose_("N", "C").names == ("N", "C")
