"""Python's operators on named tensors and other objects: the other operand may handle the call."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

from namecheck.core.semantics import Semantics
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


class _Other:
    def __radd__(self, other: Any) -> str:
        return "added"

    def __rand__(self, other: Any) -> str:
        return "and"


_FOREIGN: Final[dict[str, Callable[[Any], Any]]] = {
    "equal to None": lambda x: x == None,  # noqa: E711
    "unequal to None": lambda x: x != None,  # noqa: E711
    "in a list": lambda x: x in [None],
    "equal to a text": lambda x: x == "a",
    "below None": lambda x: x < None,
    "a tuple": lambda x: x + (0, 1),  # noqa: RUF005
    "a tuple before": lambda x: (0, 1) + x,  # noqa: RUF005
    "the method": lambda x: x.__add__((0, 1)),
    "added": lambda x: x + _Other(),
    "and": lambda x: x & _Other(),
    "no such operator": lambda x: x % _Other(),
}


@pytest.mark.parametrize("semantics", Semantics)
@pytest.mark.parametrize("operation", _FOREIGN.values(), ids=_FOREIGN)
def test_a_foreign_operand_decides_as_it_does_beside_an_unnamed_tensor(
    operation: Callable[[Any], Any], semantics: Semantics
) -> None:
    def outcome(x: Any) -> object:
        try:
            return operation(x)
        except TypeError as error:
            return type(error), str(error)

    with runtime(semantics=semantics):
        assert outcome(named()) == outcome(torch.zeros(2))
