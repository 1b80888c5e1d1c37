"""An elementwise call whose ``out=`` is one of its inputs is refused where torch refuses it."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
import torch

from namecheck.core.dims import Dims
from namecheck.core.names import Answer
from namecheck.core.tensors import Tensor
from namecheck.effects.words import Signature
from namecheck.operators import infer, table
from namecheck.rules import registry

DTYPES = torch.float64, torch.int64, torch.bool
REFUSAL = "doesn't match the broadcast shape"


def _operands(signature: Signature) -> list[str]:
    return [each.name for each in signature if "tensor" in each.kinds and each.name != "out"]


CALLS = [
    (key, tensor_parameters, which)
    for key, row in table().items()
    if "o" in row.forms and registry.traits_of(row.names).aligns == "broadcast"
    for tensor_parameters in [_operands(row.signatures[0])]
    for which in range(len(tensor_parameters))
    if len(tensor_parameters) > 1
]


def _refusal(key: str, tensor_parameters: list[str], which: int, dtype: torch.dtype) -> str:
    """The error of torch for an output of three elements; "" where there is none."""
    large, small = torch.ones(2, 3), torch.ones(3, dtype=dtype)
    args: list[Any] = [
        small if index == which else large > 0 if name == "condition" else large.to(dtype)
        for index, name in enumerate(tensor_parameters)
    ]
    try:
        reduce(getattr, key.split("."), torch)(*args, out=small)  # type: ignore[operator]
    except (RuntimeError, TypeError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("key", "tensor_parameters", "which"), CALLS)
def test_an_input_is_resized_where_torch_does_so(
    key: str, tensor_parameters: list[str], which: int
) -> None:
    errors = {_refusal(key, tensor_parameters, which, dtype) for dtype in DTYPES}
    dims = Dims.of(None, None, sizes=(2, 3)), Dims.of(None, sizes=(3,))
    args = [Tensor(dims[index == which]) for index in range(len(tensor_parameters))]
    answer = infer(key, *args, out=args[which], out_is_input=Answer.YES, defaults=None)
    is_late = table()[key].out == "takes late" and which == 0  # refused, but not by its row
    if any(REFUSAL in error for error in errors) and not is_late:
        assert answer.contradiction is not None
        assert REFUSAL in answer.contradiction.message
    elif "" in errors:
        assert answer.contradiction is None


def test_most_calls_are_decided() -> None:
    refused = [
        key
        for key, tensor_parameters, which in CALLS
        if any(REFUSAL in _refusal(key, tensor_parameters, which, dtype) for dtype in DTYPES)
    ]
    assert len(refused) > 0.9 * len(CALLS)


def test_an_input_that_may_be_the_output_is_not_refused() -> None:
    large, small = Tensor(Dims.of(None, None, sizes=(2, 3))), Tensor(Dims.of(None, sizes=(3,)))
    for answer in (Answer.NO, Answer.MAYBE):
        inference = infer("add", small, large, out=small, out_is_input=answer, defaults=None)
        assert inference.contradiction is None
