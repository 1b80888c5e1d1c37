"""Queries of a tensor that return no tensor: rank, sizes, number of elements, single values."""

from __future__ import annotations

from typing import Any

from namecheck.core.dims import OPEN, SCALAR, Dims, Size, join_dims, locate, of_rank, product
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Many, Maybe, Tensor
from namecheck.rules import dim_map
from namecheck.rules.arguments import DimArgument, Sizes
from namecheck.rules.broadcasting import broadcast
from namecheck.rules.factories import sized
from namecheck.rules.registry import rule


@rule(patched=False, counts=True)
def rank(input: Tensor) -> int | Unknown:
    """The number of dims (torch.Tensor.dim)."""
    return UNKNOWN if input.dims.rank is None else input.dims.rank


@rule(memory="unknown")
def gradient(input: Tensor) -> Maybe:
    """A tensor with the same dims without labels, or None (named_tensor.rst, "Autograd")."""
    return Maybe(Tensor(input.dims.without_labels()))


@rule(counts=True)
def shape(input: Tensor) -> tuple[Size, ...] | Unknown:
    """All sizes; unknown where the rank is unknown (torch.Tensor.shape)."""
    return UNKNOWN if input.dims.open else input.dims.sizes


@rule(counts=True)
def size(input: Tensor, dim: DimArgument = None) -> Size | tuple[Size, ...]:
    """All sizes, or the size of one dim (torch.Tensor.size)."""
    if dim is None:
        return shape(input)
    check_any_dims(input, dim)
    return input.dims[locate(input.dims, dim)].size


def check_any_dims(input: Tensor, dim: DimArgument) -> None:
    """Refuse an index into the dims of a 0-d tensor (recorded: size, stride)."""
    if input.dims.rank == 0 and isinstance(dim, int):
        raise Contradiction(
            "NC203",
            f"Dimension specified as {dim} but tensor has no dimensions",
            error="IndexError",
        )


@rule(counts=True)
def count_of_elements(input: Tensor) -> Size:
    """The number of elements (torch.numel)."""
    return UNKNOWN if input.dims.open else product(input.dims.sizes)


@rule(patched=False, counts=True)
def length(input: Tensor) -> Size:
    """``len(x)``: the size of the first dim (torch.Tensor.__len__)."""
    if input.dims.rank == 0:
        raise Contradiction("NC207", "len() of a 0-d tensor", error="TypeError")
    return input.dims.prefix[0].size if input.dims.prefix else UNKNOWN


@rule(memory="moves")
def rows(input: Tensor) -> tuple[Dims, ...] | Many:
    """``iter(x)``: the tensor without its first dim, once for each row (torch.Tensor.__iter__)."""
    if input.dims.rank == 0:
        raise Contradiction("NC207", "iteration over a 0-d tensor", error="TypeError")
    row = dim_map.without_left(input.dims, 1)
    count = length(input)
    return (row,) * count if isinstance(count, int) else Many(Tensor(row))


@rule
def single_value(input: Tensor) -> Unknown:
    """``x.item()``: the value of a tensor with exactly one (torch.Tensor.item)."""
    _check_single(input, "a Tensor with {} elements cannot be converted to Scalar", "RuntimeError")
    return UNKNOWN


@rule(patched=False)
def single_number(input: Tensor) -> Unknown:
    """``float(x)``: the value of a tensor with exactly one (recorded: __float__)."""
    _check_single(
        input, "only one element tensors can be converted to Python scalars", "ValueError"
    )
    return UNKNOWN


@rule(patched=False)
def truth(input: Tensor) -> Unknown:
    """``bool(x)``: the truth of a tensor with at most one value (recorded: __bool__)."""
    _check_single(
        input, "Boolean value of Tensor with more than one value is ambiguous", "RuntimeError"
    )
    return UNKNOWN


@rule(aligns="matched")
def contains(input: Tensor, element: Any) -> Unknown:
    """``element in x``: whether any element of the input equals that beside it, aligned to it."""
    if isinstance(element, Tensor):
        broadcast(element.dims, input.dims)
    elif not isinstance(element, (int, float, complex, Unknown)):
        raise Contradiction(
            "NC114",
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}.",
        )
    return UNKNOWN


def _check_single(input: Tensor, message: str, error: str) -> None:
    count = count_of_elements(input)
    symbols = {str(dim.size): None for dim in input.dims.known if isinstance(dim.size, Expression)}
    if (isinstance(count, int) and count != 1) or any(
        isinstance(dim.size, int) and dim.size > 1 for dim in input.dims.known
    ):
        shown, condition = count if isinstance(count, int) else "more than one", ""
    elif len(symbols) > 1:  # a batch of one is likely, a matrix with one element is not
        ones = " and ".join(f"{size} = 1" for size in symbols)
        shown, condition = "more than one", f": it is right only if {ones}."
    else:
        return
    raise Contradiction(
        "NC208",
        message.format(shown) + condition,
        error=error,
        help="Reduce the tensor to one value first, or index it.",
    )


@rule
def same_size(input: Tensor, other: Tensor) -> bool | Unknown:
    """Whether the sizes are equal, whatever the names (torch.is_same_size)."""
    answer = dim_map.same_shape(input.dims, other.dims)
    return UNKNOWN if answer is Answer.MAYBE else answer is Answer.YES


@rule
def equal(input: Tensor, other: Tensor) -> bool | Unknown:
    """Whether names, sizes and values are equal: certainly False if names or sizes differ."""
    answers = [dim_map.same_shape(input.dims, other.dims)]
    if not any(isinstance(name, Axis) for name in (*input.names, *other.names)):
        answers.append(dim_map.same_names(input.dims, other.dims))
    return False if Answer.NO in answers else UNKNOWN


@rule(patched=False)
def single_index(input: Tensor) -> Unknown:
    """``operator.index(x)``: the value of a tensor with exactly one (recorded: index)."""
    message = "only integer tensors of a single element can be converted to an index"
    _check_single(input, message, "TypeError")
    return UNKNOWN


@rule
def is_tensor(obj: Any) -> bool | Unknown:
    """Whether a value is a tensor (torch.is_tensor)."""
    return UNKNOWN if isinstance(obj, Unknown) else isinstance(obj, Tensor)


@rule(memory="unknown")
def resize(input: Tensor, size: Sizes) -> Dims:
    """The new dims; a named tensor cannot change its shape (name_inference.rst, ``resize_``)."""
    new_dims = sized(size)
    dim_map.check_resize(input.dims, new_dims)
    if input.dims.named() is Answer.NO:
        return new_dims
    if _keeps_shape(input.dims, new_dims):
        return input.dims
    return OPEN if new_dims.open else new_dims.rename([UNKNOWN] * new_dims.min_rank)


def _keeps_shape(dims: Dims, shape: Dims) -> bool:
    """Whether a tensor that is resized has this shape already: one with a label must have it."""
    return dim_map.has_label(dims) or dim_map.same_shape(dims, shape) is Answer.YES


@rule(memory="unknown", aligns="matched")
def resize_as(input: Tensor, the_template: Tensor) -> Dims:
    """The shape of another tensor, and its names, which must match (name_inference.rst)."""
    dim_map.check_resize(input.dims, the_template.dims)
    if input.dims.named() is Answer.NO:
        return the_template.dims
    if _keeps_shape(input.dims, the_template.dims) and input.dims.named() is Answer.YES:
        return broadcast(input.dims, the_template.dims)
    # If it has names, it has as many dims as the other tensor.
    rank = the_template.dims.rank
    alike = input.dims if rank is None else of_rank(input.dims, rank) or SCALAR
    return join_dims(the_template.dims, broadcast(alike.sizeless(), the_template.dims))


@rule
def resize_as_natively(input: Tensor, the_template: Tensor) -> Dims:
    """As `resize_as`; torch 2.12 requires equal names of both tensors (recorded: resize_as_)."""
    dim_map.check_resize(input.dims, the_template.dims)
    return dim_map.take_names(input.dims, the_template.dims)
