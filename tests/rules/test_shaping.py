"""Operators that expand, cut, join and mask."""

from __future__ import annotations

from typing import Any

from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Many, Tensor
from namecheck.operators import infer

PAIR = Tensor(Dims.of("N", "C", sizes=(2, 3)))
NATIVE = Semantics.NATIVE


def shown(operator: str, *args: Any, **kwargs: Any) -> str:
    answer = infer(operator, *args, **kwargs)
    if answer.contradiction is not None:
        return answer.contradiction.code
    if isinstance(answer.result, (tuple, list)):
        return " | ".join(part.dims.brief() for part in answer.result)
    if isinstance(answer.result, Many):
        return f"({answer.result.each.dims.brief()})*"
    return str(answer.result.dims.brief())


def test_squeeze_takes_dims_of_size_one() -> None:
    row = Tensor(Dims.of("N", "C", sizes=(1, 3)))
    assert shown("squeeze", row) == "C=3"
    assert shown("squeeze", row, "N") == "C=3"
    assert shown("squeeze", row, "C") == "N=1 C=3"
    assert shown("squeeze", row, "C", semantics=NATIVE) == "_=1 _=3"
    assert shown("squeeze", Tensor(Dims.of("N", "C"))) == "..."
    assert shown("squeeze", Tensor(Dims((Dim("N", 2), Dim("C"))))) == "N=2 ..."


def test_unsqueeze_puts_in_a_dim_on_purpose() -> None:
    dims = infer("unsqueeze", PAIR, 1).result.dims
    assert dims.prefix[1] == Dim(None, 1, purposeful=True)
    assert shown("unsqueeze", PAIR, -1) == "N=2 C=3 _=1"
    assert shown("unsqueeze", PAIR, 3) == "NC203"
    assert shown("unsqueeze", PAIR, 0, semantics=NATIVE) == "NC120"
    assert shown("unsqueeze", Tensor(Dims((Dim("N"),), (Dim("C"),), True)), -1) == "N ... C _=1"


def test_expand_stretches_from_the_right() -> None:
    row = Tensor(Dims.of("N", "C", sizes=(1, 3)))
    assert shown("expand", row, 4, 2, -1) == "_=4 N=2 C=3"
    assert shown("expand", row, (2, 3)) == "N=2 C=3"
    assert shown("expand", PAIR, 5, 3) == "NC201"
    assert shown("expand", PAIR, 3) == "NC207"
    assert shown("expand", PAIR, UNKNOWN) == "..."


def test_pieces_keep_the_names() -> None:
    assert shown("chunk", PAIR, 2, 1) == "N=2 C=2 | N=2 C=1"
    assert shown("split", PAIR, [1, 2], "C") == "N=2 C=1 | N=2 C=2"
    assert shown("split", PAIR, [1, 3], 1) == "NC201"
    assert shown("tensor_split", PAIR, [1], 1) == "N=2 C=1 | N=2 C=2"
    assert shown("unbind", PAIR) == "C=3 | C=3"
    assert shown("unbind", Tensor(Dims.of("N", "C"))) == "(C)*"
    assert shown("narrow", PAIR, "C", 0, 2) == "N=2 C=2"
    assert shown("slice_copy", PAIR, 1, None, -1) == "N=2 C=2"
    assert shown("slice_copy", PAIR, 0, 2) == "N=0 C=3"
    assert shown("slice_copy", PAIR, 1, UNKNOWN) == "N=2 C"
    assert shown("slice_copy", PAIR, 1, 1, out=PAIR) == "NC205"
    assert shown("narrow", PAIR, "C", 2, 2) == "NC206"


def test_cat_unifies_all_dims() -> None:
    other = Tensor(Dims.of(None, "C", sizes=(4, 3)))
    assert shown("cat", [PAIR, other], "N") == "N=6 C=3"
    assert shown("cat", [PAIR, other], "C") == "NC201"
    assert shown("cat", [PAIR, Tensor(Dims.of("X", "C"))]) == "NC101"
    assert shown("cat", [PAIR, Tensor(Dims.of("C", sizes=(3,)))]) == "NC207"
    for name in ("C", None):
        assert shown("cat", [Tensor(Dims.of(name)), PAIR], 1) == "..."  # empty, it is skipped
    assert shown("cat", Many(PAIR), 0) == "N C"
    assert shown("cat", [PAIR, UNKNOWN], 0) == "N C=3"


def test_stack_adds_a_dim_without_a_name() -> None:
    assert shown("stack", [PAIR, PAIR], 1) == "N=2 _=2 C=3"
    assert shown("stack", [PAIR, PAIR], semantics=NATIVE) == "NC120"
    assert shown("vstack", [Tensor(Dims.of("C"))] * 2, semantics=NATIVE) == "NC120"
    assert shown("vstack", [Tensor(Dims.of("C", sizes=(3,)))] * 2) == "_=2 C=3"


def test_masks() -> None:
    assert shown("masked_fill", PAIR, Tensor(Dims.of("C")), 0.0) == "N=2 C=3"
    assert shown("masked_fill", PAIR, Tensor(Dims.of("N")), 0.0) == "NC101"
    assert shown("masked_fill", Tensor(Dims.of("C")), PAIR, 0.0) == "N=2 C=3"
    assert shown("masked_fill", Tensor(Dims.of("C")), PAIR, 0.0, semantics=NATIVE) == "NC207"
    assert shown("Tensor.masked_fill_", PAIR, Tensor(Dims.of("C")), 0.0) == "N=2 C=3"
    assert shown("Tensor.masked_fill_", PAIR, Tensor(Dims.of("C")), 0.0, semantics=NATIVE) == (
        "NC207"
    )
    assert shown("masked_select", PAIR, Tensor(Dims.of("C"))) == "_"


def test_a_module_is_made_and_called() -> None:
    assert shown("nn.Softmax", "C", PAIR) == "N=2 C=3"
    assert shown("nn.Softmax", PAIR, dim="X") == "NC103"
    assert shown("nn.Linear", 3, 4, PAIR) == "N=2 _=4"
    assert shown("nn.MSELoss", PAIR, PAIR) == ""
