"""The dtype of a result, as far as an index or a mask depends on it."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import OPEN, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.operators import infer
from tests.annotated import annotated, told

MASK, PLACES, X = annotated("b t", "bool"), annotated("b t", "int64"), annotated("b t", "float32")


def dtypes(value: Any) -> Any:
    if isinstance(value, Many):
        return [value.each.dtype]
    return value.dtype if isinstance(value, Tensor) else [part.dtype for part in value]


@pytest.mark.parametrize(
    ("operator", "args", "dtype"),
    [
        ("gt", (X, 0), "bool"),
        ("isnan", (X,), "bool"),
        ("argmax", (X, 1), "int64"),
        ("topk", (X, 2), ["float32", "int64"]),
        ("max", (PLACES, 1), ["int64", "int64"]),
        ("max", (X, PLACES), "float32"),
        ("unsqueeze", (MASK, 1), "bool"),
        ("__getitem__", (MASK, (slice(None), None)), "bool"),
        ("__getitem__", (X, MASK), "float32"),
        ("gather", (X, 1, PLACES), "float32"),
        ("unbind", (MASK,), ["bool"]),
        ("bitwise_and", (MASK, MASK), "bool"),
        ("bitwise_and", (MASK, 1), "int64"),
        ("bitwise_not", (MASK,), "bool"),
        ("cat", ([MASK, MASK],), "bool"),
        ("cat", ([MASK, PLACES],), "int64"),
        ("long", (X,), "int64"),
        ("arange", (5,), "int64"),
        ("arange", (5.0,), "float32"),
        ("unique", (X, True, True, True), ["float32", "int64", "int64"]),
        ("add", (X, X), "float32"),
    ],
)
def test_dtypes(operator: str, args: tuple[Any, ...], dtype: Any) -> None:
    assert dtypes(infer(operator, *args).result) == dtype


def test_what_was_asked_for_counts() -> None:
    asked = Constant("dtype", "float32")
    assert infer("zeros_like", PLACES, dtype=asked).result.dtype == "float32"
    assert infer("arange", 5, dtype=asked).result.dtype == "float32"
    assert infer("arange", 5, dtype=UNKNOWN).result.dtype is UNKNOWN


def test_a_tensor_that_is_written_to_keeps_its_own() -> None:
    assert infer("eq_", X, PLACES).result.dtype == "float32"
    assert infer("gt", X, 0, out=PLACES).result.dtype == "int64"


@pytest.mark.parametrize(
    ("weight", "out", "message"),
    [
        (annotated("3", "float32"), "float64", "Found dtype Double but expected Float"),
        (annotated("3", "float32"), "int64", "Found dtype Long but expected Float"),
        (annotated("", "float32"), "float64", None),
        (
            annotated("", "float32"),
            "int64",
            "result type Float can't be cast to the desired output type Long",
        ),
        (Tensor(dtype="float32"), "float64", None),
        (Tensor(dtype="float32"), "int64", "Found dtype Long but expected Float"),
        (0.5, "float64", None),
    ],
)
def test_an_output_accepts_a_result_on_a_condition(
    weight: Any, out: str, message: str | None
) -> None:
    """What `torch.lerp` casts for a weight without dims it refuses for another."""
    values = annotated("3", "float32")
    contradiction = infer("lerp", values, values, weight, out=annotated("3", out)).contradiction
    assert (contradiction and contradiction.message) == message


def test_a_mask_takes_the_place_of_what_it_covers() -> None:
    tokens = annotated("b t d")
    mask = infer("gt", X, 0).result
    assert told(infer("__getitem__", tokens, mask)) == "_ d"
    best = infer("argmax", tokens, 1).result
    assert told(infer("__getitem__", annotated("n v"), best)) == "b d v"


def test_a_call_that_may_be_irregular_is_not_refused() -> None:
    """Without dims, `inner` multiplies, and writes to a tensor of any floating dtype."""
    any_rank, out = Tensor(OPEN, "float32"), Tensor(Dims(), "float64")
    assert infer("inner", any_rank, any_rank, out=out).contradiction is None
    assert infer("inner", any_rank, any_rank).result.dtype == "float32"
    row = annotated("t", "float32")
    assert infer("inner", row, row, out=out).contradiction is not None


def test_a_tensor_of_unknown_size_counts_as_having_elements() -> None:
    floats, nothing = Tensor(OPEN, "float32"), Tensor(Dims.of(None, sizes=(0,)), "float32")
    assert infer("bincount", floats).contradiction is not None
    assert infer("bincount", nothing).contradiction is None
