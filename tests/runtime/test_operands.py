"""Python's operators on named tensors and other objects: the other operand may handle the call."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

from namecheck.runtime import runtime


def named() -> Any:
    tensor: Any = torch.zeros(2)
    return tensor.refine_names("N")


@pytest.mark.parametrize(
    ("compared", "answer"),
    [
        (lambda x: x == "N", False),
        (lambda x: x != "N", True),
        (lambda x: "N" == x, False),  # noqa: SIM300
        (lambda x: x in ["N", x], True),
        (lambda x: x == None, False),  # noqa: E711
    ],
)
def test_a_tensor_equals_no_string(compared: Callable[[Any], Any], answer: bool) -> None:
    with runtime():
        assert compared(named()) is answer
        assert compared(torch.zeros(2)) is answer


@pytest.mark.parametrize("name", ["add", "sub", "lt", "pow"])
def test_what_no_operand_knows_is_pythons_error(name: str) -> None:
    with runtime(), pytest.raises(TypeError, match="supported"):
        getattr(operator, name)(named(), "N")


def test_an_operand_may_know_tensors() -> None:
    class Unit:
        def __radd__(self, other: Any) -> Any:
            return other.names

    with runtime():
        assert named() + Unit() == ("N",)
