"""Calls of which so little is known that more than one result is possible: nothing is claimed."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dataclasses import replace
from namecheck.core.dims import OPEN, Dim, Dims, axis, with_occurrences
from namecheck.core.memory_order import CONTIGUOUS
from namecheck.core.names import SOME, UNKNOWN, Axis
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor, covers
from namecheck.operators import infer

NC = Tensor(Dims.of("N", "C", sizes=(2, 3)))
VECTOR = Tensor(Dims.of("N", sizes=(2,)))
ENDS_IN_C = Tensor(Dims((), (Dim("C"),), open=True))


@pytest.mark.parametrize(
    ("operator", "args", "keywords", "dims"),
    [
        # Every dim, or some of them.
        ("flatten", (NC,), {"dims": UNKNOWN, "out_dim": "F"}, OPEN),
        # None removes all names, any other name is that of the only dim.
        ("rename", (NC, UNKNOWN), {}, Dims.of(UNKNOWN, UNKNOWN, sizes=(2, 3))),
        ("rename", (Tensor(), UNKNOWN), {}, OPEN),
        # Without a dim a tensor is flattened.
        ("repeat_interleave", (NC, 2), {"dim": UNKNOWN}, OPEN),
        ("repeat_interleave", (VECTOR, 2), {"dim": UNKNOWN}, Dims.of(UNKNOWN)),
        # A mean, which any rank has, if the sizes are 1.
        ("nn.functional.adaptive_avg_pool2d", (NC, UNKNOWN), {}, Dims.of("N", "C")),
    ],
)
def test_what_is_possible(
    operator: str, args: tuple[Any, ...], keywords: dict[str, Any], dims: Dims
) -> None:
    inference = infer(operator, *args, **keywords)
    assert inference.contradiction is None
    assert inference.result.dims == dims


def test_a_size_that_is_known_decides() -> None:
    contradiction = infer("nn.functional.adaptive_avg_pool2d", NC, 2).contradiction
    assert contradiction is not None
    assert contradiction.code == "NC207"


def test_a_dim_is_inserted_before_that_of_a_name() -> None:
    closed = infer("unsqueeze", NC, "C").result.dims
    assert [dim.name for dim in closed.prefix] == ["N", None, "C"]
    for call in ("unsqueeze", ENDS_IN_C), ("stack", [ENDS_IN_C]):
        counted_from_the_right = infer(*call, "C").result.dims
        assert [dim.name for dim in counted_from_the_right.suffix] == [None, "C"]


def test_a_bias_that_may_be_none() -> None:
    native, bias = Semantics.NATIVE, Tensor(Dims.of(None))
    inference = infer("nn.functional.linear", VECTOR, Tensor(), UNKNOWN, semantics=native)
    assert (inference.contradiction, inference.result.dims) == (None, OPEN)
    inference = infer("nn.functional.linear", VECTOR, Tensor(), bias, semantics=native)
    assert inference.contradiction is None  # torch folds a contiguous input alone
    dense = replace(VECTOR, memory=CONTIGUOUS)
    inference = infer("nn.functional.linear", dense, Tensor(), bias, semantics=native)
    assert inference.contradiction is not None


SOME_AXIS = Dim(Axis("A", occurrence=SOME))
AXES = with_occurrences(Dims((axis("A"), axis("A"), axis("A"))))
# A dim without a name that has the size of an axis, as after `rename(None)`.
NAMELESS = Dim(None, axis("A").size)


@pytest.mark.parametrize(
    ("operator", "args", "keywords", "dims"),
    [
        # Axes that an operator drops or merges, where their place is unknown.
        (
            "select",
            (Tensor(Dims((), (Dim(), Dim("C"), *AXES.prefix), open=True)), UNKNOWN, 0),
            {},
            Dims((), (Dim(), Dim(), SOME_AXIS, SOME_AXIS), open=True),
        ),
        # The three dims up to the index may be the first three of those that are known.
        (
            "amax",
            (Tensor(Dims((), (Dim(), Dim("C"), *AXES.prefix), open=True)), 2, True),
            {},
            Dims((Dim(),) * 3, AXES.sizeless().prefix[1:], open=True),
        ),
        (
            "kron",
            (Tensor(AXES), Tensor(Dims((), AXES.prefix, open=True))),
            {},
            Dims((), (Dim(), Dim(), Dim()), open=True),
        ),
        ("flatten", (Tensor(Dims((), (Dim(), Dim()), open=True)), 1), {}, Dims((Dim(), Dim()))),
        # The input may have the axis that its model has no name for.
        ("resize_as_", (UNKNOWN, Tensor(Dims((NAMELESS,)))), {}, Dims((Dim(),))),
        # A dim without a name has none after it is cut, or taken for another.
        ("vsplit", (Tensor(Dims((NAMELESS, Dim("C")))), 2), {}, Dims.of(None, "C")),
        ("svd", (Tensor(Dims((Dim("N"), NAMELESS))),), {}, Dims.of("N", None)),
    ],
)
def test_axes_of_which_little_is_known(
    operator: str, args: tuple[Any, ...], keywords: dict[str, Any], dims: Dims
) -> None:
    inference = infer(operator, *args, **keywords)
    assert inference.contradiction is None
    result = inference.result[0] if isinstance(inference.result, tuple) else inference.result
    assert result.dims.sizeless() == dims
    assert covers(Tensor(dims), result)


def test_no_elements_have_any_memory_order() -> None:
    vague = infer("as_strided", NC, [UNKNOWN], [1]).result
    assert covers(vague, infer("as_strided", NC, [0], [1]).result)
    assert not covers(vague, infer("as_strided", NC, [2], [2]).result)


@pytest.mark.parametrize("operator", ["trapezoid", "cumulative_trapezoid"])
def test_a_number_is_not_integrated(operator: str) -> None:
    contradiction = infer(operator, Tensor(Dims()), x=NC, dim=0).contradiction
    assert contradiction is not None
    assert contradiction.error == "IndexError"


def test_a_named_output_may_have_another_size_where_none_is_computed() -> None:
    """torch resizes it, which no rule sees: the size of a pool that rounds up is unknown."""
    image = Tensor(Dims.of("N", "C", "H", "W", sizes=(4, 6, 2, 1)))
    inference = infer("nn.functional.avg_pool2d", image, 3, ceil_mode=True, out=image)
    dims = inference.result.dims
    assert (dims.names, dims.sizes[2:]) == (("N", "C", "H", "W"), (UNKNOWN, UNKNOWN))
