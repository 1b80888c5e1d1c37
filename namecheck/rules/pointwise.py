"""Keeps input names; unifies names from inputs (name_inference.rst, these sections)."""

from __future__ import annotations

from functools import reduce
from typing import Any

from namecheck.core.dims import OPEN, Dim, Dims
from namecheck.core.dtypes import DType
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import Sizes, TensorOrNumber
from namecheck.rules.broadcasting import broadcast, unify
from namecheck.rules.registry import rule


@rule(memory="preserves", overlaps="refused")
def keeps_input_names(input: Tensor) -> Dims:
    """The result has the names of the input (name_inference.rst, "Keeps input names")."""
    return input.dims


@rule(memory="preserves", overlaps="refused", broadcasts=True, aligns="broadcast")
def unifies_names_from_inputs(input: Tensor, other: object) -> Dims:
    """The names of both inputs, unified from the right (name_inference.rst, same title)."""
    if not isinstance(input, Tensor):
        return other.dims if isinstance(other, Tensor) else Dims()
    if not isinstance(other, Tensor):
        return input.dims
    return broadcast(input.dims, other.dims)


@rule(memory="preserves", overlaps="refused", aligns="broadcast")
def unifies_names_from_all_inputs(
    input: TensorOrNumber, tensor1: object, tensor2: object = None
) -> Dims:
    """The names of up to three inputs, unified in their order (recorded: addcmul, clamp)."""
    operands = [one.dims for one in (input, tensor1, tensor2) if isinstance(one, Tensor)]
    reduce(unify, operands, Dims())
    return reduce(broadcast, operands, Dims())


@rule(memory="preserves", aligns="broadcast")
def unifies_names_from_inputs_reversed(input: Tensor, other: object) -> Dims:
    """As `unifies_names_from_inputs`, matched from the other side (recorded: rsub, copy_)."""
    return unifies_names_from_inputs(other, input)  # type: ignore[arg-type]


@rule(memory="preserves", overlaps="refused", broadcasts=True, aligns="broadcast")
def clamp(
    input: Tensor, min: TensorOrNumber | None = None, max: TensorOrNumber | None = None
) -> Dims:
    """The input's names, unified with those of bounds that are tensors (recorded: clamp)."""
    if min is None and max is None:
        raise Contradiction(
            "NC114",
            "torch.clamp: At least one of 'min' or 'max' must not be None",
            help="Give a lower or an upper bound.",
        )
    return unifies_names_from_all_inputs(input, min, max)


@rule(memory="preserves", overlaps="refused", aligns="broadcast")
def where(
    condition: Tensor, input: TensorOrNumber | None = None, other: object | None = None
) -> Dims | tuple[Dims, ...] | Many:
    """The names of condition and choices, unified; of a condition alone, the true positions."""
    if input is not None:
        return unifies_names_from_all_inputs(condition, input, other)
    flat, rank = Dims.of(None), condition.dims.rank
    return Many(Tensor(flat)) if rank is None else (flat,) * max(rank, 1)


@rule(memory="unknown", aligns="matched")
def normal(
    mean: TensorOrNumber,
    std: TensorOrNumber = 1,
    size: Sizes | None = None,
    out: Tensor | None = None,
) -> Dims:
    """The names of mean and std, unified (documented: keeps_input_names).

    Beside a number `out` keeps its shape, if the mean can be expanded to it.
    """
    if isinstance(mean, Tensor) and not isinstance(std, Tensor) and isinstance(out, Tensor):
        return broadcast(mean.dims, out.dims)
    if size is None:
        return unifies_names_from_all_inputs(mean, std)
    return OPEN if isinstance(size, Unknown) else Dims(tuple(Dim(None, n) for n in size))


@rule(memory="preserves", overlaps="refused", aligns="broadcast")
def unifies_names_of_parts(
    real: Tensor | None = None,
    imag: Tensor | None = None,
    abs: Tensor | None = None,
    angle: Tensor | None = None,
) -> Dims:
    """The names of the two parts of a complex number, unified (torch.complex, torch.polar)."""
    first, second = (real, imag) if isinstance(real, Tensor) else (abs, angle)
    return unifies_names_from_all_inputs(first, second)  # type: ignore[arg-type]


@rule(memory="unknown", aligns="matched")
def unifies_count_and_prob(count: Tensor, prob: Tensor) -> Dims:
    """The names of both inputs, unified (torch.binomial)."""
    return broadcast(count.dims, prob.dims)


@rule(memory="first")
def keeps_input_names_twice(input: Tensor) -> tuple[Dims, Dims]:
    """Two results with the names of the input (torch.frexp, torch.native_dropout)."""
    return input.dims, input.dims


@rule(memory="first")
def fills(input: Tensor, value: Any) -> Dims:
    """The input's names; a value that is a tensor must have no dims (recorded: fill_)."""
    if isinstance(value, Tensor) and value.dims.min_rank > 0:
        raise Contradiction(
            "NC207",
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value.dims.min_rank} dimensions.",
            help="Fill with a number; `copy_` takes the values of a tensor.",
        )
    return input.dims


@rule(memory="unknown")
def cast_or_type(input: Tensor, dtype: DType | None = None) -> Dims | Unknown:
    """The input cast to a type; without a type, the type's name (recorded: type)."""
    return UNKNOWN if dtype is None else input.dims


@rule(aligns="matched")
def agrees(input: Tensor, other: Tensor) -> bool | Unknown:
    """Both inputs unify; the result is no tensor (torch.allclose)."""
    broadcast(input.dims, other.dims)
    return UNKNOWN


@rule(memory="unknown", aligns="matched")
def unifies_to_scalar_p(input: Tensor, other: Tensor) -> Dims:
    """Both inputs unify; the result is one number (torch.dist)."""
    broadcast(input.dims, other.dims)
    return Dims()
