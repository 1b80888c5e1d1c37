"""Queries of a tensor's attributes: device, dtype, layout, memory order (tensor_attributes.rst).

None of them returns a tensor.
"""

from __future__ import annotations

from typing import Any

from namecheck.core import devices, dtypes, memory_order
from namecheck.core.devices import CPU
from namecheck.core.dims import Size, locate
from namecheck.core.dtypes import COMPLEXES, FLOATINGS, DType
from namecheck.core.layouts import SPARSE
from namecheck.core.memory_order import CONTIGUOUS, FORMATS
from namecheck.core.names import UNKNOWN, Answer, Unknown
from namecheck.core.promotion import operands_in
from namecheck.core.tensors import Constant, Tensor
from namecheck.rules.arguments import DimArgument
from namecheck.rules.queries import check_any_dims
from namecheck.rules.registry import rule


@rule(patched=False)
def device_of(obj: Any) -> Constant | Unknown:
    """The device of a tensor, with its index (torch.Tensor.device); unknown of other values."""
    device = obj.device if isinstance(obj, Tensor) else UNKNOWN
    if isinstance(device, str) and devices.is_whole(device):
        return Constant("device", device)
    return UNKNOWN


@rule(patched=False)
def is_on_cuda(input: Tensor) -> bool | Unknown:
    """Whether a tensor is on a CUDA device (torch.Tensor.is_cuda)."""
    return _is_of(input, "cuda")


@rule(patched=False)
def is_on_meta(input: Tensor) -> bool | Unknown:
    """Whether a tensor has no data (torch.Tensor.is_meta)."""
    return _is_of(input, "meta")


@rule(patched=False)
def index_of_device(input: Tensor) -> int | Unknown:
    """The index of the device, -1 for the CPU (torch.Tensor.get_device)."""
    device = input.device
    if not isinstance(device, str):
        return UNKNOWN
    _, index = devices.parted(device)
    return -1 if device == CPU else UNKNOWN if index is None else index


def _is_of(tensor: Tensor, kind: str) -> bool | Unknown:
    kinds = devices.kinds(tensor.device)
    return UNKNOWN if kinds is None or len(kinds) > 1 else kinds == {kind}


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
    """The smallest dtype that holds the values of both (torch.promote_types)."""
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


@rule(patched=False)
def layout_of(input: Tensor) -> Constant | Unknown:
    """The layout of a tensor (torch.Tensor.layout)."""
    return UNKNOWN if isinstance(input.layout, Unknown) else Constant("layout", input.layout)


@rule(patched=False)
def is_sparse(input: Tensor) -> bool | Unknown:
    """Whether the layout is sparse_coo (torch.Tensor.is_sparse)."""
    return UNKNOWN if isinstance(input.layout, Unknown) else input.layout == SPARSE


@rule(patched=False)
def is_sparse_csr(input: Tensor) -> bool | Unknown:
    """Whether the layout is sparse_csr (torch.Tensor.is_sparse_csr)."""
    return UNKNOWN if isinstance(input.layout, Unknown) else input.layout == "sparse_csr"


@rule
def stride(input: Tensor, dim: DimArgument = None) -> Size | tuple[Size, ...]:
    """The strides, or the stride of one dim, which must exist (torch.Tensor.stride)."""
    steps = None
    if not isinstance(input.memory, Unknown) and not input.dims.open:
        steps = memory_order.strides(input.memory, input.dims.sizes)
    if dim is None:
        return UNKNOWN if steps is None else steps
    check_any_dims(input, dim)
    place = locate(input.dims, dim)
    return steps[place] if steps and isinstance(place, int) else UNKNOWN


@rule(patched=False)
def is_contiguous(input: Tensor, memory_format: Constant | None = None) -> bool | Unknown:
    """Whether the memory order is that of a memory format (torch.Tensor.is_contiguous)."""
    word = "contiguous_format" if memory_format is None else memory_format.name
    order = FORMATS.get(word)
    if order is None or (input.dims.open and input.memory != CONTIGUOUS):
        return UNKNOWN
    if order and input.dims.rank not in (None, len(order)):
        return False
    if input.dims.open:
        return True if order == CONTIGUOUS else UNKNOWN
    return _known(memory_order.is_laid_out(input.memory, input.dims.sizes, order))
