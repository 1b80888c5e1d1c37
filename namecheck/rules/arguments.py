"""The types of arguments that rules take, under one name each.

A rule takes abstract arguments: `Tensor`, `Many` (a list of unknown length), a plain Python value,
or UNKNOWN. A parameter of any other kind is passed as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from namecheck.core.dims import Size
from namecheck.core.names import Answer, Name, Unknown
from namecheck.core.tensors import Many, Tensor

Flag: TypeAlias = bool | Unknown
Word: TypeAlias = str | Unknown

# A dim by its index or its name; None is the name None, or no dim where a rule says so.
DimArgument: TypeAlias = int | str | Unknown | None
DimArguments: TypeAlias = tuple[DimArgument, ...] | list[DimArgument]
Names: TypeAlias = Sequence[Name] | Unknown | None

Sizes: TypeAlias = Sequence[Size] | Unknown
# One size for all spatial dims, or one for each.
Extent: TypeAlias = Size | Sequence[Size] | None

TensorOrNumber: TypeAlias = Tensor | float
Tensors: TypeAlias = Sequence[Tensor] | Many | Unknown
Several: TypeAlias = Tensor | Tensors


def may_be_none(tensor: Tensor) -> bool:
    """Whether what counts as a tensor may be None where that is allowed: nothing is known of it."""
    return tensor == Tensor()


def is_single(tensor: Tensor) -> Answer:
    """Whether a tensor has one element, which torch takes wherever a list has an int.

    Source: recorded (empty).
    """
    if any(isinstance(size, int) and size != 1 for size in tensor.dims.sizes):
        return Answer.NO
    return Answer.YES if tensor.dims.rank == 0 else Answer.MAYBE
