"""The operators that read, write, refine, align, flatten and unflatten names."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import Inference, infer
from tests.rules.answers import code, names

ANY = Tensor()
NCHW = Tensor(Dims.of("N", "C", "H", "W", sizes=(2, 3, 4, 5)))
HALF = Tensor(Dims.of("N", None, sizes=(2, 6)))
N_ANY_W = Tensor(Dims((Dim("N"),), (Dim("W"),), True))


def brief(answer: Inference) -> str:
    assert answer.contradiction is None, answer.contradiction.message
    assert isinstance(answer.result, Tensor)
    return answer.result.dims.brief()


def test_names_are_read_as_a_tuple() -> None:
    assert infer("names", HALF).result == ("N", None)
    assert infer("names", N_ANY_W).result is UNKNOWN
    assert infer("has_names", HALF).result is True
    assert infer("has_names", ANY).result is UNKNOWN


def test_names_are_set() -> None:
    assert infer("names=", HALF, ["A", "B"]).after[0].names == ("A", "B")
    assert infer("names=", HALF, None).after[0].names == (None, None)
    assert infer("names=", ANY, ("A", "B")).after[0].dims.rank == 2
    assert code(infer("names=", HALF, ["A"])) == "NC106"
    assert code(infer("names=", HALF, "AB")) == "NC114"


def test_rename_by_position_and_by_name() -> None:
    assert names(infer("rename", HALF, "A", "B")) == ("A", "B")
    assert names(infer("rename", HALF, None)) == (None, None)
    assert names(infer("rename", HALF, ..., "B")) == ("N", "B")
    assert names(infer("rename", HALF, N="input")) == ("input", None)
    assert code(infer("rename", HALF, C="A")) == "NC103"
    assert code(infer("rename", HALF, "A", N="B")) == "NC106"
    assert code(infer("rename", NCHW, N="C")) == "NC104"


def test_rename_in_place_changes_the_receiver() -> None:
    assert infer("rename_", HALF, "A", "B").after[0].names == ("A", "B")


def test_rename_of_open_dims() -> None:
    assert brief(infer("rename", N_ANY_W, "A", "B", ..., "Z")) == "A B ... Z"
    assert brief(infer("rename", N_ANY_W, N="B")) == "B ... W"
    assert brief(infer("rename", N_ANY_W, C="B")) == "N ... W"
    assert brief(infer("rename", ANY, "A", "B")) == "A B"
    assert code(infer("rename", N_ANY_W, "A")) == "NC106"


def test_the_last_dim_of_an_open_list_may_be_a_known_one() -> None:
    start = Tensor(Dims((Dim("A"), Dim("B"), Dim("C")), (), True))
    assert brief(infer("rename", start, ..., "X")) == "A B ... X"


@pytest.mark.parametrize("ellipsis", [..., "..."])
def test_refine_names(ellipsis: Any) -> None:
    assert names(infer("refine_names", HALF, "N", "C")) == ("N", "C")
    assert names(infer("refine_names", HALF, ellipsis, "C")) == ("N", "C")
    assert brief(infer("refine_names", ANY, "N", ellipsis, "C")) == "N ... C"


def test_refining_changes_no_name() -> None:
    assert code(infer("refine_names", HALF, "X", "C")) == "NC107"
    assert code(infer("refine_names", HALF, None, "C")) == "NC107"
    assert code(infer("refine_names", HALF, "N")) == "NC106"
    assert code(infer("refine_names", N_ANY_W, "X", ...)) == "NC107"
    assert names(infer("refine_names", Tensor(Dims.of(UNKNOWN)), None)) == (None,)


def test_align_to() -> None:
    answer = infer("align_to", Tensor(Dims.of("C", "N", sizes=(3, 2))), "N", "T", "C").result
    assert answer.dims.brief() == "N=2 T=1 C=3"
    assert answer.dims[1].purposeful
    assert names(infer("align_to", NCHW, "W", ...)) == ("W", "N", "C", "H")
    assert code(infer("align_to", NCHW, "N", "C")) == "NC108"
    assert code(infer("align_to", HALF, "N", "C")) == "NC109"
    assert names(infer("align_to", HALF, ..., "N")) == (None, "N")


def test_dims_of_unknown_names_need_a_name_each() -> None:
    one, two = Tensor(Dims.of(UNKNOWN)), Tensor(Dims.of("N", UNKNOWN))
    assert code(infer("align_to", one, None)) == "NC108"
    assert code(infer("align_to", two, "N", None)) == "NC108"
    assert code(infer("align_as", two, Tensor(Dims.of("N", None)))) == "NC108"
    assert names(infer("align_to", two, "N", "C")) == ("N", "C")
    assert brief(infer("align_to", one, UNKNOWN)) == "?"


def test_align_to_of_open_dims() -> None:
    assert brief(infer("align_to", ANY, "N", "C")) == "N C"
    assert brief(infer("align_to", N_ANY_W, "C", ...)) == "C N ... W"
    assert brief(infer("align_to", N_ANY_W, "W", ...)) == "W N ..."
    assert code(infer("align_to", N_ANY_W, "N", "C")) == "NC108"


def test_align_as() -> None:
    assert names(infer("align_as", Tensor(Dims.of("C")), NCHW)) == ("N", "C", "H", "W")
    assert code(infer("align_as", NCHW, Tensor(Dims.of("C")))) == "NC108"
    assert brief(infer("align_as", Tensor(Dims.of("C")), N_ANY_W)) == "N=1 ... W=1"


def test_align_tensors_is_only_announced_by_torch() -> None:
    tensors = Tensor(Dims.of("C")), NCHW
    aligned = infer("align_tensors", *tensors).result
    assert [tensor.names for tensor in aligned] == [("N", "C", "H", "W")] * 2
    assert code(infer("align_tensors", *tensors, semantics=Semantics.NATIVE)) == "NC120"


def test_flatten_by_name() -> None:
    assert brief(infer("flatten", NCHW, ["C", "H"], "f")) == "N=2 f=12 W=5"
    assert brief(infer("flatten", NCHW, "C", "W", "f")) == "N=2 f=60"
    assert code(infer("flatten", NCHW, ["H", "C"], "f")) == "NC111"
    assert code(infer("flatten", NCHW, ["C", "H"], "W")) == "NC104"
    assert code(infer("flatten", NCHW, [], "f")) == "NC111"


def test_flatten_without_a_name() -> None:
    assert names(infer("flatten", NCHW, 1)) == ("N", None)
    assert code(infer("flatten", NCHW, 1, semantics=Semantics.NATIVE)) == "NC120"


def test_torch_names_the_input_where_one_dim_is_flattened() -> None:
    assert infer("flatten", NCHW, ["C"], "f").after == {}
    native = infer("flatten", NCHW, ["C"], "f", semantics=Semantics.NATIVE)
    assert native.after[0].names == ("N", "f", "H", "W")


def test_flatten_of_open_dims() -> None:
    assert brief(infer("flatten", N_ANY_W, 1, -1, "f")) == "N f"
    assert brief(infer("flatten", N_ANY_W, ["C", "H"], "f")) == "N ... W"
    assert brief(infer("flatten", N_ANY_W, -2, -1, "f")) == "... f"
    assert code(infer("flatten", N_ANY_W, "W", "N", "f")) == "NC114"


PAIRS = [("A", 2), ("B", 3)]


@pytest.mark.parametrize("sizes", [PAIRS, tuple(PAIRS), OrderedDict(PAIRS)])
def test_unflatten(sizes: Any) -> None:
    flat = Tensor(Dims.of("N", "F", sizes=(2, 6)))
    assert brief(infer("unflatten", flat, "F", sizes)) == "N=2 A=2 B=3"
    assert brief(infer("unflatten", flat, 1, (-1, 3))) == "N=2 _=2 _=3"
    assert code(infer("unflatten", flat, "F", [("A", 4), ("B", 3)])) == "NC204"
    assert code(infer("unflatten", flat, "F", [("N", 2), ("B", 3)])) == "NC104"


def test_unflatten_of_open_dims() -> None:
    assert brief(infer("unflatten", N_ANY_W, "W", PAIRS)) == "N ... A=2 B=3"
    assert brief(infer("unflatten", N_ANY_W, "C", PAIRS)) == "N ... W"
    assert brief(infer("unflatten", N_ANY_W, 0, UNKNOWN)) == "... W"


def test_the_function_takes_names_and_the_method_pairs() -> None:
    flat = Tensor(Dims.of("F", sizes=(6,)))
    assert names(infer("torch.unflatten", flat, "F", (2, 3), ["A", "B"])) == ("A", "B")
    assert code(infer("torch.unflatten", flat, "F", PAIRS)) == "NC114"
    assert names(infer("Tensor.unflatten", flat, "F", PAIRS)) == ("A", "B")


def test_modules() -> None:
    assert names(infer("nn.Flatten", NCHW)) == ("N", None)
    assert brief(infer("nn.Unflatten", 1, (1, 3), NCHW)) == "N=2 _=1 _=3 H=4 W=5"


def test_a_named_tensor_keeps_its_shape() -> None:
    assert names(infer("resize_", HALF, 2, 6)) == ("N", None)
    assert code(infer("resize_", HALF, 3, 4)) == "NC205"
    assert names(infer("resize_", Tensor(Dims.of(None, sizes=(6,))), 2, 3)) == (None, None)
    assert infer("resize_as_", HALF, Tensor(Dims.of(None, "C", sizes=(2, 6)))).after[0].names == (
        "N",
        "C",
    )


def test_queries() -> None:
    assert infer("dim", NCHW).result == 4
    assert infer("size", NCHW, "C").result == 3
    assert infer("size", NCHW).result == (2, 3, 4, 5)
    assert infer("numel", NCHW).result == 120
    assert infer("size", N_ANY_W, 1).result is UNKNOWN
    assert code(infer("size", NCHW, "X")) == "NC103"
    assert code(infer("item", NCHW)) == "NC208"
