"""An index shows how many dims a tensor of unknown rank has at least."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor, covers
from namecheck.operators import infer
from namecheck.rules.dim_map import reaching

STARTS_WITH_BC = Tensor(Dims((Dim("B"), Dim("C")), (), open=True))
ENDS_IN_HW = Tensor(Dims((), (Dim("H"), Dim("W")), open=True))
WORDS = tuple("ABCDEFG")


@pytest.mark.parametrize(
    ("operator", "args", "shown"),
    [
        ("sum", (STARTS_WITH_BC, 2), "['B', 'C', ...]"),
        ("sum", (STARTS_WITH_BC, (2, 3), True), "['B', 'C', ?, ?, ...]"),
        ("sum", (STARTS_WITH_BC, -1), "['B', ...]"),
        ("sum", (ENDS_IN_HW, -3), "[..., 'H', 'W']"),
        ("transpose", (STARTS_WITH_BC, 1, 2), "['B', ?, 'C', ...]"),
        ("unsqueeze", (ENDS_IN_HW, 1), "[?, None, ..., 'W']"),
        ("select", (STARTS_WITH_BC, 2, 0), "['B', 'C', ...]"),
    ],
)
def test_what_stays_where_it_is(operator: str, args: tuple[Any, ...], shown: str) -> None:
    assert infer(operator, *args).result.dims.show() == shown


@pytest.mark.parametrize("index", [10**12, -(10**12)])
def test_an_index_beyond_all_tensors_says_nothing(index: int) -> None:
    assert infer("sum", STARTS_WITH_BC, index, True).result.dims.min_rank < 65


def test_pieces_of_a_tensor_of_unknown_rank() -> None:
    one, other = infer("split_with_sizes", Tensor(Dims(open=True)), (1, 2), -1).result
    assert (one.dims[-1].size, other.dims[-1].size) == (1, 2)
    whole = infer("cat", [one, one], -2).result
    assert (whole.dims[-1].size, whole.dims[-2].size) == (1, UNKNOWN)


def test_a_grid_with_a_wrong_number_of_coordinates() -> None:
    image, grid = Tensor(Dims(open=True)), Tensor(Dims((), (Dim(size=1),), open=True))
    contradiction = infer("nn.functional.grid_sample", image, grid).contradiction
    assert contradiction is not None
    assert "expected grid to have size 2 in last dimension" in contradiction.message


@given(st.integers(0, 6), st.data())
def test_every_tensor_that_has_the_index_is_covered(rank: int, data: st.DataObject) -> None:
    closed = Dims.of(*WORDS[:rank], sizes=range(1, rank + 1))
    first = data.draw(st.integers(0, rank))
    last = data.draw(st.integers(0, rank - first))
    part = Dims(closed.prefix[:first], closed.prefix[rank - last :], open=True)
    index = data.draw(st.integers(-max(rank, 1), max(rank, 1) - 1))
    assert covers(Tensor(reaching(part, index)), Tensor(closed))
