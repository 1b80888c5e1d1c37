"""``x[…]`` and ``x[…] = value``."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.rules.answers import code

NCH = Tensor(Dims.of("N", "C", "H", sizes=(2, 3, 4)))
N_ANY_W = Tensor(Dims((Dim("N"), Dim("C")), (Dim("W"),), True))
ALL = slice(None)


def brief(index: Any, tensor: Tensor = NCH) -> str:
    answer = infer("__getitem__", tensor, index)
    assert answer.contradiction is None, answer.contradiction.message
    assert isinstance(answer.result, Tensor)
    return answer.result.dims.brief()


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, "C=3 H=4"),
        ((ALL, -1), "N=2 H=4"),
        ((..., 0), "N=2 C=3"),
        (slice(1, None), "N=1 C=3 H=4"),
        (slice(UNKNOWN, None), "N C=3 H=4"),
        ((slice(None, None, 2), ..., slice(1, 3)), "N=1 C=3 H=2"),
        (None, "_=1 N=2 C=3 H=4"),
        ((ALL, None), "N=2 _=1 C=3 H=4"),
        ([0, 1, 1], "N=3 C=3 H=4"),
        ([True, False], "N C=3 H=4"),
        ((ALL, [0, 1], [0, 1]), "N=2 _=2"),
        (([0, 1], ALL, [0, 1]), "_=2 C=3"),
        ((), "N=2 C=3 H=4"),
    ],
)
def test_what_an_index_leaves(index: Any, expected: str) -> None:
    assert brief(index) == expected


def test_a_new_dim_is_there_on_purpose() -> None:
    assert infer("__getitem__", NCH, None).result.dims[0].purposeful


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, "C ... W"),
        ((0, 0, 0), "..."),
        ((..., 0), "N C ..."),
        ((ALL, ..., None), "N C ... W _=1"),
        ((0, ..., None, 0), "C ... _=1"),
        (UNKNOWN, "..."),
        ((ALL, UNKNOWN), "N ..."),
    ],
)
def test_what_an_index_leaves_of_open_dims(index: Any, expected: str) -> None:
    assert brief(index, N_ANY_W) == expected


def test_index_tensors_bring_their_own_names() -> None:
    ids = Tensor(Dims.of("B", "T", sizes=(5, 6)), dtype="int64")
    assert brief((ALL, ids)) == "N=2 B=5 T=6 H=4"
    mask = Tensor(Dims.of("N", "C", sizes=(2, 3)), dtype="bool")
    assert brief(mask) == "_ H=4"
    assert brief(Tensor(Dims.of(None), dtype="int64")) == "? C=3 H=4"
    assert brief(Tensor(Dims.of("N", "C"))) == "..."


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ((0, 0, 0, 0), "NC206"),
        (2, "NC206"),
        ("N", "NC114"),
        (1.5, "NC114"),
        (slice(None, None, -1), "NC206"),
    ],
)
def test_what_is_refused(index: Any, expected: str) -> None:
    assert code(infer("__getitem__", NCH, index)) == expected


@pytest.mark.parametrize("index", [None, True, [0, 1], (0, None), (ALL, [0])])
def test_torch_refuses_what_has_no_name_rule(index: Any) -> None:
    assert code(infer("__getitem__", NCH, index, semantics=Semantics.NATIVE)) == "NC120"


def test_torch_refuses_only_where_a_name_is_left() -> None:
    tensor = Tensor(Dims.of("N", None, sizes=(2, 3)))
    answer = infer("__getitem__", tensor, (0, None), semantics=Semantics.NATIVE)
    assert answer.result.names == (None, None)


def test_an_assigned_value_must_match() -> None:
    assert infer("__setitem__", NCH, 0, Tensor(Dims.of("C", "H"))).contradiction is None
    assert code(infer("__setitem__", NCH, 0, Tensor(Dims.of("N", "H")))) == "NC101"
    assert code(infer("__setitem__", NCH, 0, Tensor(Dims.of(None, sizes=(7,))))) == "NC201"
    assert infer("__setitem__", NCH, 0, 1.0).contradiction is None
    assert infer("__setitem__", NCH, 0, Tensor()).after == {}
