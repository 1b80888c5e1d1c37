"""Elements read and written by an index tensor."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.annotated import annotated, run, told


@pytest.mark.parametrize(
    ("operator", "args", "result"),
    [
        ("gather", (":b t v", 2, ":b t 1"), "b t _=1"),
        ("gather", (":b t v", 2, ":b t k"), "b t k"),
        ("gather", (":b t v", 2, ":b s 1"), "NC101"),
        ("gather", (":b t v", 1, ":b t"), "NC207"),
        ("gather", (":b t v", UNKNOWN, ":b t v"), "b t v"),
        ("take_along_dim", (":b t v", ":b ~1 k", 2), "b t k"),
        ("take_along_dim", (":b t v", ":b s k", 2), "NC101"),
        ("take_along_dim", (":b t", ":b t"), "b*t"),
        ("index_select", (":n d", 0, ":k"), "k d"),
        ("index_select", (":n d", -1, ":k"), "n k"),
        ("scatter", (":b v", 1, ":b k", ":b k"), "b v"),
        ("scatter", (":b v", 1, ":c k", ":b k"), "NC101"),
        ("scatter_add", (":b v", 1, ":b k", ":c k"), "NC101"),
        ("index_add", (":n d", 0, ":k", ":k d"), "n d"),
        ("index_add", (":n d", 0, ":k", ":k e"), "NC101"),
        ("index_add", (":n d", 0, ":k", ":m d"), "NC101"),
    ],
)
def test_axes(operator: str, args: tuple[Any, ...], result: str) -> None:
    assert run(operator, *args) == result


def test_labels_of_the_input_stay() -> None:
    logits = Tensor(Dims.of("N", "C", sizes=(2, 5)))
    picked = Tensor(Dims.of("N", None, sizes=(2, 1)))
    assert told(infer("gather", logits, 1, picked)) == "N=2 C=1"
    assert told(infer("gather", logits, 1, Tensor(Dims.of("C", "N", sizes=(2, 1))))) == "NC101"
    assert told(infer("index_select", logits, 1, Tensor(Dims.of(None, sizes=(3,))))) == "N=2 C=3"


@pytest.mark.parametrize(
    ("index", "result"),
    [
        (annotated("k", "int64"), "k d"),
        (annotated("k m", "int64"), "k m d"),
        ((slice(None), annotated("k", "int64")), "n k"),
        ((annotated("k", "int64"), annotated("k", "int64")), "k"),
        ((annotated("k", "int64"), annotated("m", "int64")), "NC101"),
        (annotated("n", "bool"), "n d"),
        (annotated("n d", "bool"), "_"),
        (annotated("d", "bool"), "NC101"),
    ],
)
def test_index_tensors_put_their_dims_in(index: Any, result: str) -> None:
    assert told(infer("__getitem__", annotated("n d"), index)) == result


@pytest.mark.parametrize(
    ("args", "result"),
    [
        (("scatter", ":b t", 1, ":b", 1.0), "NC207"),
        (("searchsorted", ":n", ":b k"), "b k"),
        (("searchsorted", ":b n", ":b k"), "b k"),
        (("searchsorted", ":b n", ":t k"), "NC101"),
        (("searchsorted", ":b n", ":k"), "NC207"),
    ],
)
def test_ranks_and_rows_agree(args: tuple[Any, ...], result: str) -> None:
    assert run(*args) == result


def test_an_index_without_elements_may_have_any_rank() -> None:
    x, index = Tensor(Dims.of(None, sizes=[3])), Tensor(Dims.of(None, None, sizes=[2, 0]))
    assert infer("gather", x, 0, index).contradiction is None
    assert infer("scatter", x, 0, index, 1.0).contradiction is None
