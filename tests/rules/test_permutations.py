"""Operators that change the order of dimensions."""

from __future__ import annotations

import pytest

from namecheck.core.dims import Dim, Dims
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.rules.answers import code, names

NCH = Tensor(Dims.of("N", "C", "H", sizes=(2, 3, 4)))
OPEN = Tensor(Dims((Dim("N"),), (Dim("H"), Dim("W")), True))


def test_transpose_moves_names_and_sizes() -> None:
    answer = infer("transpose", NCH, "N", "H").result
    assert answer.dims == Dims.of("H", "C", "N", sizes=(4, 3, 2))


def test_a_name_may_stand_beside_an_index_but_not_natively() -> None:
    assert names(infer("transpose", NCH, 0, "H")) == ("H", "C", "N")
    assert code(infer("transpose", NCH, 0, "H", semantics=Semantics.NATIVE)) == "NC114"


def test_transpose_of_open_dims() -> None:
    assert infer("transpose", OPEN, -1, -2).result.dims.suffix == (Dim("W"), Dim("H"))
    across = infer("transpose", OPEN, 0, -1).result.dims
    assert (across.prefix, across.suffix) == ((Dim("W"),), (Dim("H"), Dim("N")))


def test_a_dim_from_the_middle_is_not_known() -> None:
    dims = infer("transpose", OPEN, "C", "W").result.dims
    assert dims.open
    assert dims.suffix == (Dim("H"), Dim())


def test_a_missing_name_is_refused() -> None:
    assert code(infer("transpose", NCH, "N", "X")) == "NC103"
    assert code(infer("transpose", NCH, 0, 7)) == "NC203"


@pytest.mark.parametrize(("attribute", "expected"), [("mT", "NHC"), ("mH", "NHC"), ("T", "HCN")])
def test_attributes(attribute: str, expected: str) -> None:
    assert names(infer(attribute, NCH)) == tuple(expected)


def test_the_last_two_of_open_dims() -> None:
    assert infer("mT", OPEN).result.dims.suffix == (Dim("W"), Dim("H"))
    assert infer("mT", Tensor()).result.dims.open


def test_only_matrices() -> None:
    assert code(infer("t", NCH)) == "NC207"
    assert code(infer("H", NCH)) == "NC207"
    assert code(infer("mT", Tensor(Dims.of("N")))) == "NC207"


def test_permute_by_name_and_natively_not_at_all() -> None:
    assert names(infer("permute", NCH, "H", "N", "C")) == ("H", "N", "C")
    assert names(infer("permute", NCH, (2, 0, 1))) == ("H", "N", "C")
    assert code(infer("permute", NCH, 2, 0, 1, semantics=Semantics.NATIVE)) == "NC120"
    assert code(infer("permute", NCH, 0, 1)) == "NC207"
    assert code(infer("permute", NCH, 0, 0, 1)) == "NC104"


def test_permute_tells_the_rank_of_open_dims() -> None:
    assert names(infer("permute", OPEN, 3, 0, 2, 1))[:2] == ("W", "N")


def test_movedim() -> None:
    assert names(infer("movedim", NCH, 0, -1)) == ("C", "H", "N")
    assert names(infer("movedim", NCH, ("N", "C"), (2, 0))) == ("C", "H", "N")
    assert code(infer("movedim", NCH, (0, 1), (2,))) == "NC114"


def test_in_place_the_receiver_becomes_the_result() -> None:
    answer = infer("transpose_", NCH, 0, 2)
    assert answer.after[0].names == ("H", "C", "N")
    assert code(infer("transpose_", NCH, 0, 2, semantics=Semantics.NATIVE)) == "NC120"
