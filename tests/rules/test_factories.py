"""Tensors made from sizes, from data and from other tensors."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import OPEN, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Constant, Tensor
from namecheck.operators import infer
from tests.rules.answers import code, names

NC = Tensor(Dims.of("N", "C", sizes=(2, 3)))


@pytest.mark.parametrize("args", [(2, 3), ((2, 3),), ([2, 3],)])
def test_sizes_in_every_form(args: tuple[Any, ...]) -> None:
    answer = infer("zeros", *args, names=("N", "C"))
    assert answer.result.dims == Dims.of("N", "C", sizes=(2, 3))
    assert infer("zeros", size=(2, 3)).result.dims == Dims.of(None, None, sizes=(2, 3))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("N",), "NC106"),
        (("N", "N"), "NC104"),
        (("N", "1a"), "NC105"),
        ("NC", "NC114"),
        (("N", 1), "NC114"),
    ],
)
def test_names_that_are_refused(given: Any, expected: str) -> None:
    assert code(infer("rand", 2, 3, names=given)) == expected


def test_a_star_is_no_name() -> None:
    assert names(infer("ones", 2, 3, names=["*", "C"])) == (None, "C")


def test_what_is_not_known_of_sizes_and_names() -> None:
    assert names(infer("zeros", UNKNOWN, 3, names=("N", "C"))) == ("N", "C")
    assert names(infer("zeros", 2, 3, names=UNKNOWN)) == (UNKNOWN, UNKNOWN)
    assert infer("zeros", UNKNOWN).result.dims == OPEN
    assert names(infer("zeros", UNKNOWN, names=("N", "C"))) == ("N", "C")
    assert code(infer("zeros", 2, 3, names=(UNKNOWN,))) == "NC106"


def test_no_names_on_the_meta_device() -> None:
    assert code(infer("zeros", 2, names=["N"], device=Constant("device", "meta"))) == "NC120"
    assert names(infer("zeros_like", NC, device="meta")) == ("N", "C")
    assert code(infer("zeros_like", NC, device="meta", semantics=Semantics.NATIVE)) == "NC120"


def test_out_keeps_its_names_and_its_size() -> None:
    assert names(infer("empty", (2, 3), out=NC)) == ("N", "C")
    assert code(infer("empty", (3, 2), out=NC)) == "NC205"
    assert code(infer("zeros", (2, 3), out=NC, semantics=Semantics.NATIVE)) == "NC120"
    assert names(infer("zeros", (2, 3), out=NC)) == ("N", "C")
    assert code(infer("empty", (2, 3), out=NC, names=("A", "B"))) == "NC114"


def test_data_gives_the_sizes() -> None:
    answer = infer("tensor", [[1, 2], [3, 4]], names=("N", "C"))
    assert answer.result.dims == Dims.of("N", "C", sizes=(2, 2))
    assert infer("tensor", [[1, UNKNOWN]]).result.dims == Dims.of(None, None, sizes=(1, 2))
    assert infer("tensor", UNKNOWN).result.dims == OPEN
    assert code(infer("tensor", "a")) == "NC114"


def test_a_copy_keeps_its_names() -> None:
    assert names(infer("tensor", NC)) == ("N", "C")
    assert code(infer("tensor", NC, names=("A", "B"))) == "NC110"


def test_a_tensor_that_is_written_to_may_have_names() -> None:
    dims = infer("randperm", 4, out=UNKNOWN).result.dims
    assert dims == Dims.of(UNKNOWN, sizes=(4,))
    partly = Tensor(Dims.of(None, UNKNOWN))
    assert infer("eye", 2, out=partly).result.dims == Dims.of(None, UNKNOWN, sizes=(2, 2))
    assert infer("eye", 2, 3, out=NC).result.dims == NC.dims


def test_those_without_names() -> None:
    assert infer("arange", 2, 9, 3).result.dims == Dims.of(None, sizes=(3,))
    assert infer("eye", 2).result.dims == Dims.of(None, None, sizes=(2, 2))
    assert names(infer("new_zeros", NC, 4)) == (None,)
    assert code(infer("new_zeros", NC, 4, semantics=Semantics.NATIVE)) == "NC120"
    assert code(infer("eye", 2, names=("N", "C"))) == "NC114"
