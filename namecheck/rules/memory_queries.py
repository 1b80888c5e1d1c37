"""What is asked about how a tensor lies in memory (tensor_attributes.rst, torch.layout)."""

from __future__ import annotations

from namecheck.core import memory_order
from namecheck.core.dims import Size, locate
from namecheck.core.layouts import SPARSE
from namecheck.core.memory_order import CONTIGUOUS, FORMATS
from namecheck.core.names import UNKNOWN, Answer, Unknown
from namecheck.core.tensors import Constant, Tensor
from namecheck.rules.arguments import DimArgument
from namecheck.rules.queries import check_any_dims
from namecheck.rules.registry import rule


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
    """The strides, or that of one dim, which must exist (torch.Tensor.stride)."""
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
    """Whether the elements lie in memory as a format has them (torch.Tensor.is_contiguous)."""
    word = "contiguous_format" if memory_format is None else memory_format.name
    order = FORMATS.get(word)
    if order is None or (input.dims.open and input.memory != CONTIGUOUS):
        return UNKNOWN
    if order and input.dims.rank not in (None, len(order)):
        return False
    if input.dims.open:
        return True if order == CONTIGUOUS else UNKNOWN
    answer = memory_order.is_laid_out(input.memory, input.dims.sizes, order)
    return UNKNOWN if answer is Answer.MAYBE else answer is Answer.YES
