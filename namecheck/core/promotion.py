"""The arguments that take part in dtype promotion (tensor_attributes.rst; torch.result_type)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from namecheck.core import dtypes
from namecheck.core.dims import Dims
from namecheck.core.dtypes import STANDARD, Defaults, DType, Operand, Priority
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Many, SomeNumber, Tensor


def operands_in(argument: Any, defaults: Defaults = STANDARD) -> Iterator[tuple[Operand, ...]]:
    """The possible operands for each tensor and number in an argument; () where it is unknown."""
    if isinstance(argument, (tuple, list)):
        for part in argument:
            yield from operands_in(part, defaults)
    elif argument is not None and not isinstance(argument, str):
        yield operand_of(argument, defaults)


def operand_of(leaf: Any, defaults: Defaults = STANDARD) -> tuple[Operand, ...]:
    """The possible operands for one tensor or number; () where it is unknown."""
    if isinstance(leaf, Tensor):
        return _choices(leaf.dtype, _priorities(leaf.dims))
    if isinstance(leaf, Many):
        single = isinstance(leaf.each.dtype, str)
        return operand_of(leaf.each) if single else ()
    if isinstance(leaf, Expression):
        return (Operand("int64", Priority.SCALAR),)
    if isinstance(leaf, (bool, int, float, complex)):
        return tuple(_of_number(leaf, defaults))
    return ()


@cache
def _choices(dtype: DType, priorities: tuple[Priority, ...]) -> tuple[Operand, ...]:
    return tuple(
        Operand(each, priority) for each in dtypes.possible(dtype) for priority in priorities
    )


def _priorities(dims: Dims) -> tuple[Priority, ...]:
    if dims.prefix or dims.suffix:
        return _DIMENSIONED
    return _EITHER if dims.open else _ZERO_DIM


_DIMENSIONED: Final = (Priority.DIMENSIONED,)
_ZERO_DIM: Final = (Priority.ZERO_DIM,)
_EITHER: Final = (Priority.DIMENSIONED, Priority.ZERO_DIM)


def _of_number(number: complex, defaults: Defaults) -> Iterator[Operand]:
    for example in number.examples if isinstance(number, SomeNumber) else (number,):
        for default in dtypes.possible(defaults.dtype):
            yield Operand(dtypes.of_number(example, default), Priority.SCALAR)
