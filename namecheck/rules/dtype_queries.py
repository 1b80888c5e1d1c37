"""Operators that ask about dtypes, and give no tensor (tensor_attributes.rst, torch.dtype)."""

from __future__ import annotations

from typing import Any

from namecheck.core import dtypes
from namecheck.core.dtypes import COMPLEXES, FLOATINGS, DType
from namecheck.core.names import UNKNOWN, Answer, Unknown
from namecheck.core.promotion import operands_in
from namecheck.core.tensors import Constant, Tensor
from namecheck.rules.registry import rule


@rule(patched=False)
def dtype_of(input: Tensor) -> Constant | Unknown:
    """The dtype of a tensor (torch.Tensor.dtype)."""
    return _constant(input.dtype)


@rule(patched=False)
def is_floating(input: Tensor) -> bool | Unknown:
    """Whether the dtype is a floating one (torch.is_floating_point)."""
    return _known(dtypes.is_among(input.dtype, FLOATINGS))


@rule(patched=False)
def is_of_complex(input: Tensor) -> bool | Unknown:
    """Whether the dtype is a complex one (torch.is_complex)."""
    return _known(dtypes.is_among(input.dtype, COMPLEXES))


@rule(patched=False)
def can_cast(from_: Any, to: Any) -> bool | Unknown:
    """Whether one dtype may be cast into the other (torch.can_cast)."""
    if not _are_dtypes(from_, to):
        return UNKNOWN
    return dtypes.can_cast(from_.name, to.name)


@rule(patched=False)
def promoted_type(type1: Any, type2: Any) -> Constant | Unknown:
    """The smallest dtype of which both are part (torch.promote_types)."""
    if not _are_dtypes(type1, type2):
        return UNKNOWN
    try:
        return _constant(dtypes.promote(type1.name, type2.name))
    except dtypes.Undefined:
        return UNKNOWN


@rule(patched=False)
def result_type(tensor1: Any, tensor2: Any) -> Constant | Unknown:
    """The dtype that arithmetic on two operands would give (torch.result_type)."""
    chosen = [choice for each in (tensor1, tensor2) for choice in operands_in(each)]
    return _constant(dtypes.each(lambda *operands: dtypes.result_type(operands), *chosen))


def _constant(dtype: DType) -> Constant | Unknown:
    return Constant("dtype", dtype) if isinstance(dtype, str) else UNKNOWN


def _known(answer: Answer) -> bool | Unknown:
    return UNKNOWN if answer is Answer.MAYBE else answer is Answer.YES


def _are_dtypes(*constants: Any) -> bool:
    return all(
        isinstance(constant, Constant) and constant.name in dtypes.KINDS for constant in constants
    )
