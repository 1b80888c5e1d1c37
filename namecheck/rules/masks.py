"""Operators that take a mask (name_inference.rst: masked_fill, masked_select)."""

from __future__ import annotations

from typing import Any

from namecheck.core import names as naming
from namecheck.core.dims import Dim, Dims
from namecheck.core.names import Answer, Contradiction
from namecheck.core.tensors import Tensor
from namecheck.rules.broadcasting import broadcast, unify
from namecheck.rules.registry import rule


@rule(memory="fresh", aligns="matched")
def masked_fill(input: Tensor, mask: Tensor, value: Any = 0) -> Dims:
    """The input's names unified with the mask's (recorded: masked_fill)."""
    unified = _unified(input.dims, mask.dims)
    _check_value(value)
    return unified


@rule(memory="fresh", aligns="matched")
def masked_fill_natively(input: Tensor, mask: Tensor, value: Any = 0) -> Dims:
    """As `masked_fill`; the mask must not have more dims (recorded: masked_fill)."""
    _check_ranks(input.dims, mask.dims, "masked_fill")
    return masked_fill(input, mask, value)


@rule(memory="unknown", aligns="matched")
def masked_fill_in_place(input: Tensor, mask: Tensor, value: Any = 0) -> Dims:
    """As `masked_fill`, but matched from the mask's side (recorded: masked_fill_)."""
    unified = _unified(mask.dims, input.dims)
    _check_value(value)
    return unified


@rule(memory="unknown", aligns="matched")
def masked_fill_in_place_natively(input: Tensor, mask: Tensor, value: Any = 0) -> Dims:
    """As `masked_fill_in_place`; the mask must not have fewer dims (recorded: masked_fill_)."""
    _check_ranks(mask.dims, input.dims, "masked_fill_")
    return masked_fill_in_place(input, mask, value)


@rule(memory="fresh", aligns="matched")
def masked_select(input: Tensor, mask: Tensor) -> Dims:
    """The mask must align with the input; the result is a vector (recorded: masked_select)."""
    _unified(input.dims, mask.dims)
    return Dims((Dim(None),))


@rule(memory="unknown", overlaps="refused", aligns="matched")
def masked_scatter(input: Tensor, mask: Tensor, source: Any) -> Dims:
    """The input's names unified with the mask's, as `masked_fill` (torch.masked_scatter)."""
    return broadcast(input.dims, mask.dims)


def _check_ranks(dims: Dims, small: Dims, operator: str) -> None:
    """Refuse dims that are broadcast to fewer ones (recorded: masked_fill).

    torch 2.12 checks this only where either has a name.
    """
    one, other = dims.rank, small.rank
    named = max((dims.named(), small.named()), key=lambda answer: answer.value)
    if one is not None and other is not None and other > one and named is Answer.YES:
        raise Contradiction(
            "NC207",
            f"{operator}: attempted to broadcast Tensor{small.show()} to Tensor{dims.show()} but "
            f"the number of dims ({other}) must be less than or equal to the number of dims in the "
            f"tensor ({one})",
            names=naming.words([*small.names, *dims.names]),
            help="Give the mask the dimensions of the input with `align_as`.",
        )


def _unified(dims: Dims, mask: Dims) -> Dims:
    """Match names first, then sizes, from the mask's side."""
    names = unify(dims, mask)
    broadcast(mask.unnamed(), dims.unnamed())
    return names


def _check_value(value: Any) -> None:
    if isinstance(value, Tensor) and value.dims.min_rank > 0:
        raise Contradiction(
            "NC207",
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.dims.min_rank} dimension(s).",
            help="Fill with a number or with a tensor without dimensions.",
        )
