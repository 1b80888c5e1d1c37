"""Calls of which so little is known that more than one result is possible: nothing is claimed."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import OPEN, Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
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
    assert inference.contradiction is not None
