"""Pointwise operators: names kept, names unified, and results for unknown names."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import OPEN, Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import infer

NATIVE = Semantics.NATIVE


def named(*names: str | None) -> Tensor:
    return Tensor(Dims.of(*names))


def names_of(operator: str, *args: Any, **kwargs: Any) -> Any:
    answer = infer(operator, *args, **kwargs)
    assert answer.contradiction is None
    return answer.result.names


def code_of(operator: str, *args: Any, **kwargs: Any) -> str | None:
    contradiction = infer(operator, *args, **kwargs).contradiction
    return None if contradiction is None else contradiction.code


@pytest.mark.parametrize("operator", ["abs", "exp", "nn.functional.gelu", "nn.ReLU", "half"])
def test_names_are_kept(operator: str) -> None:
    assert names_of(operator, named("N", None)) == ("N", None)


def test_names_are_unified_from_the_right() -> None:
    assert names_of("add", named("N", None), named("C")) == ("N", "C")
    assert names_of("mul", named("N", "C"), 2.0) == ("N", "C")
    assert names_of("where", named("N", None), named("C"), 0.0) == ("N", "C")


def test_names_that_differ_contradict() -> None:
    assert code_of("add", named("N", "C"), named("N")) == "NC101"
    assert code_of("add", named("N", None), named("N")) == "NC102"
    assert code_of("clamp", named("N"), named("C"), None) == "NC101"


def test_what_may_match_is_not_reported() -> None:
    unsure = Tensor(Dims((Dim("N"), Dim(UNKNOWN))))
    assert names_of("add", unsure, named("C")) == ("N", "C")
    assert names_of("add", Tensor(), named("N", "C")) == ("N", "C")


def test_the_open_middle_stays_open() -> None:
    batch = Tensor(Dims((Dim("N"),), (Dim("C"),), True))
    assert infer("relu", batch).result.dims == batch.dims
    assert infer("add", batch, UNKNOWN).result.dims.open
    assert code_of("add", batch, named("H")) == "NC101"


def test_only_torch_refuses_what_it_does_not_support() -> None:
    assert code_of("sgn", named("N"), semantics=NATIVE) == "NC120"
    assert names_of("sgn", named("N")) == ("N",)
    assert names_of("sgn", named(None), semantics=NATIVE) == (None,)
    assert code_of("sgn", Tensor(OPEN), semantics=NATIVE) is None


def test_the_overload_decides_what_is_refused() -> None:
    whole = {"rounding_mode": "floor"}
    assert names_of("div", named("N"), named("N"), semantics=NATIVE) == ("N",)
    assert code_of("div", named("N"), named("N"), semantics=NATIVE, **whole) == "NC120"
    answer = infer("remainder_", named("N"), 2.0, semantics=NATIVE).contradiction
    assert answer is not None
    assert answer.message.startswith("aten::remainder_.Scalar is not")


def test_in_place_gives_the_receiver_the_names() -> None:
    answer = infer("add_", Tensor(Dims.of(None, "C")), named("N", None))
    assert answer.after[0].names == ("N", "C")
