"""Products of matrices and vectors: the names of the result, and refused operands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from namecheck.core.dims import Dim, Dims, axis
from namecheck.core.names import UNKNOWN, Axis, Name
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.rules.answers import code, names

OPEN = Tensor()


def named(*names: Name, sizes: Any = None) -> Tensor:
    return Tensor(Dims.of(*names, sizes=sizes))


def axes(*words: str) -> Tensor:
    return Tensor(Dims(tuple(map(axis, words))))


def test_the_contracted_names_are_not_compared() -> None:
    assert names(infer("mm", named("N", "D"), named("in", "out"))) == ("N", "out")


def test_different_axes_do_not_meet() -> None:
    left, right = axes("n", "d"), axes("k", "m")
    assert code(infer("mm", left, right)) == "NC101"
    assert infer("mm", left, axes("d", "m")).contradiction is None
    part = Tensor(Dims((Dim(Axis("k")), Dim(Axis("m")))))  # a slice of unknown extent
    assert infer("mm", left, part).contradiction is None


@pytest.mark.parametrize("operator", ["mm", "matmul"])
def test_one_name_may_not_be_left_twice(operator: str) -> None:
    assert code(infer(operator, named("N", "D"), named("D", "N"))) == "NC104"


def test_a_batch_name_may_not_come_back_as_a_feature() -> None:
    left, right = named("A", "B", "C", "D"), named(None, "A")
    assert code(infer("matmul", left, right)) == "NC104"
    native = infer("matmul", left, right, semantics=Semantics.NATIVE)
    assert names(native) == ("A", "B", "C", "A")


def test_batch_dims_unify() -> None:
    left, right = named("N", "A", "B"), named("M", "B", "C")
    assert code(infer("bmm", left, right)) == "NC101"
    assert names(infer("bmm", left, named(None, "B", "C"))) == ("N", "A", "C")
    assert code(infer("matmul", left, named(None, "B", "N"))) == "NC102"


def test_sizes_must_fit() -> None:
    left, right = named("N", "D", sizes=(2, 3)), named("D", "E", sizes=(4, 5))
    answer = infer("mm", left, right)
    assert code(answer) == "NC202"
    assert answer.contradiction is not None
    assert "cannot be multiplied (2x3 and 4x5)" in answer.contradiction.message


def test_of_open_dims_what_is_certain_is_kept() -> None:
    matrix = Tensor(Dims((), (Dim("T"), Dim("D")), True))
    answer = infer("matmul", matrix, named("D", "E")).result
    assert answer.dims == Dims((), (Dim("T"), Dim("E")), True)
    assert infer("matmul", OPEN, named("D", "E")).result.dims == Dims((), (Dim("E"),), True)
    assert infer("matmul", OPEN, OPEN).result.dims.open


def test_open_dims_contradict_only_for_certain() -> None:
    left = Tensor(Dims((), (Dim("N"), Dim("D")), True))
    assert code(infer("matmul", left, named("D", "N"))) == "NC104"
    assert infer("matmul", left, named("D", UNKNOWN)).contradiction is None


def test_a_bias_unifies_and_stretches() -> None:
    product = named("N", "D"), named("D", "O", sizes=(3, 4))
    assert names(infer("addmm", named("O", sizes=(4,)), *product)) == ("N", "O")
    assert code(infer("addmm", named("X"), *product)) == "NC101"
    assert code(infer("addmm", named(None, sizes=(5,)), *product)) == "NC201"


def test_in_place_natively_the_names_must_be_there_already() -> None:
    operands = named("N", "D"), named("D", "O")
    receiver = named(None, "O")
    assert names(infer("addmm_", receiver, *operands)) == ("N", "O")
    native = infer("addmm_", receiver, *operands, semantics=Semantics.NATIVE)
    assert code(native) == "NC110"


def test_out_of_products() -> None:
    operands = named(None, None, sizes=(2, 3)), named(None, None, sizes=(3, 4))
    kept = infer("mm", *operands, out=named("A", "B", sizes=(2, 4)))
    assert names(kept) == ("A", "B")
    assert code(infer("mm", *operands, out=named("A", "B", sizes=(2, 5)))) == "NC205"
    assert names(infer("matmul", *operands, out=named("A", "B", sizes=(2, 5)))) == ("A", "B")
    labelled = named("N", None, sizes=(2, 3)), operands[1]
    assert code(infer("mm", *labelled, out=named("A", "B", sizes=(2, 4)))) == "NC110"


def test_linear_takes_the_weight_transposed() -> None:
    answer = infer("nn.functional.linear", named("N", "T", "I"), named("O", "I"), named("O"))
    assert names(answer) == ("N", "T", "O")


def test_cdist_tells_where_a_doubled_name_comes_from() -> None:
    answer = infer("cdist", named("N", "C"), named("N", "C"))
    assert answer.contradiction is not None
    assert "'N' (index -2 of ['N', 'C'])" in answer.contradiction.message


def test_tensordot_and_outer_keep_what_is_not_contracted() -> None:
    assert names(infer("tensordot", named("A", "B"), named("B", "C"), 1)) == ("A", "C")
    assert names(infer("outer", named("N"), named("C"))) == ("N", "C")


def test_an_annotated_out_keeps_no_axis_that_the_result_may_not_have() -> None:
    vector = Tensor(Dims((axis("A"),)))
    axes = Dims(tuple(replace(axis("A"), name=Axis("A", occurrence=n)) for n in (1, 2, 3)))
    assert names(infer("dstack", [vector], out=Tensor(axes)))[2] is None
    unknown = infer("dstack", UNKNOWN, out=Tensor(axes)).result
    assert all(dim.name is UNKNOWN for dim in unknown.dims.known)
