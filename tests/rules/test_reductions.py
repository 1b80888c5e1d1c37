"""Operators that remove dimensions, by name, by index, or all of them."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import infer

IMAGE = Tensor(Dims.of("N", "C", "H", "W", sizes=(2, 3, 4, 5)))


def dims_of(operator: str, *args: Any, **kwargs: Any) -> Dims:
    answer = infer(operator, *args, **kwargs)
    assert answer.contradiction is None
    dims = answer.result.dims
    assert isinstance(dims, Dims)
    return dims


def code_of(operator: str, *args: Any, **kwargs: Any) -> str | None:
    contradiction = infer(operator, *args, **kwargs).contradiction
    return None if contradiction is None else contradiction.code


@pytest.mark.parametrize("dim", ["C", 1, -3, ["C"], (1,)])
def test_one_dim_goes(dim: Any) -> None:
    assert dims_of("sum", IMAGE, dim).names == ("N", "H", "W")


def test_without_a_dim_all_go() -> None:
    assert dims_of("mean", IMAGE).rank == 0
    assert dims_of("sum", IMAGE, []).rank == 0
    assert infer("all", IMAGE, []).result.names == ("N", "C", "H", "W")


def test_keepdim_leaves_a_dim_put_there_on_purpose() -> None:
    kept = dims_of("var", IMAGE, ["H", "W"], keepdim=True)
    assert kept.names == ("N", "C", "H", "W")
    assert kept.prefix[2] == Dim("H", 1, purposeful=True)


def test_a_dim_that_is_not_there() -> None:
    assert code_of("sum", IMAGE, "X") == "NC103"
    assert code_of("sum", IMAGE, 4) == "NC203"
    assert code_of("sum", IMAGE, ["C", "C"]) == "NC104"
    assert code_of("sum", IMAGE, [None]) == "NC109"
    assert code_of("prod", IMAGE, ["C"]) == "NC114"


def test_max_is_three_operators() -> None:
    assert dims_of("max", IMAGE).rank == 0
    pair = infer("max", IMAGE, "C")
    assert pair.fields == ("values", "indices")
    assert [part.names for part in pair.result] == [("N", "H", "W")] * 2
    assert dims_of("max", IMAGE, Tensor(Dims.of("W"))).names == ("N", "C", "H", "W")
    assert infer("max", IMAGE, UNKNOWN).result is UNKNOWN


def test_of_an_open_list_only_the_dim_asked_for_goes() -> None:
    batch = Tensor(Dims((Dim("N"), Dim("C")), (Dim("W"),), True))
    assert dims_of("sum", batch, "C") == Dims((Dim("N"),), (Dim("W"),), True)
    assert dims_of("sum", batch, -1) == Dims((Dim("N"), Dim("C")), (), True)
    assert dims_of("sum", batch, "X") == batch.dims
    assert dims_of("sum", batch, UNKNOWN).open


def test_a_name_is_taken_wherever_an_index_is() -> None:
    assert dims_of("argmax", IMAGE, "C").names == ("N", "H", "W")
    assert code_of("argmax", IMAGE, "C", semantics=Semantics.NATIVE) == "NC114"


def test_torch_refuses_all_along_a_dim() -> None:
    answer = infer("all", IMAGE, 0, semantics=Semantics.NATIVE).contradiction
    assert answer is not None
    assert answer.message.startswith("aten::all.dim is not yet supported")
    answer = infer("all", IMAGE, "N", semantics=Semantics.NATIVE).contradiction
    assert answer is not None
    assert answer.message.startswith("all: You passed a dimname")
    assert dims_of("all", IMAGE, "N").names == ("C", "H", "W")


def test_select_looks_at_the_index() -> None:
    assert dims_of("select", IMAGE, "C", 2).names == ("N", "H", "W")
    assert code_of("select", IMAGE, "C", 3) == "NC206"
    assert dims_of("select", IMAGE, "C", UNKNOWN).names == ("N", "H", "W")
