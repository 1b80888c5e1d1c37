"""The operands that arguments count as when dtypes are promoted."""

from __future__ import annotations

from typing import Any, Final

import pytest

from namecheck.core.dims import Dims
from namecheck.core.dtypes import Defaults, Operand, Priority
from namecheck.core.names import UNKNOWN
from namecheck.core.promotion import operand_of, operands_in
from namecheck.core.sizes import symbol
from namecheck.core.tensors import SOME_NUMBERS, Many, Tensor

FLAT: Final = Dims.of(None)
HALF: Final = Tensor(FLAT, "float16")
SCALAR, ZERO_DIM, DIMENSIONED = Priority


@pytest.mark.parametrize(
    ("leaf", "operands"),
    [
        (HALF, [Operand("float16", DIMENSIONED)]),
        (Tensor(Dims(), "int64"), [Operand("int64", ZERO_DIM)]),
        (Tensor(dtype="bool"), [Operand("bool", DIMENSIONED), Operand("bool", ZERO_DIM)]),
        (Tensor(FLAT), []),
        (Many(HALF), [Operand("float16", DIMENSIONED)]),
        (Many(Tensor(FLAT, frozenset({"float16", "int8"}))), []),
        (True, [Operand("bool", SCALAR)]),
        (1.5, [Operand("float64", SCALAR)]),
        (1j, [Operand("complex128", SCALAR)]),
        (symbol("seq"), [Operand("int64", SCALAR)]),
        (SOME_NUMBERS["float"], [Operand("int64", SCALAR), Operand("float64", SCALAR)]),
        (UNKNOWN, []),
    ],
)
def test_a_number_takes_the_default_dtype(leaf: Any, operands: list[Operand]) -> None:
    assert operand_of(leaf, Defaults("float64")) == tuple(operands)


def test_operands_are_found_in_lists() -> None:
    assert list(operands_in([HALF, (2, None, "mean")])) == [
        (Operand("float16", DIMENSIONED),),
        (Operand("int64", SCALAR),),
    ]
