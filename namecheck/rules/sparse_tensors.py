"""Sparse tensors: their factories, and access to their parts (torch.sparse)."""

from __future__ import annotations

from namecheck.core.dims import OPEN, Dims, new_dim
from namecheck.core.names import Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import Sizes
from namecheck.rules.registry import rule


@rule(memory="unknown")
def sparse_factory(size: Sizes | None = None) -> Dims:
    """The dims of these sizes; without sizes they are unknown (torch.sparse_coo_tensor)."""
    if size is None or isinstance(size, Unknown):
        return OPEN
    return Dims(tuple(map(new_dim, size)))


@rule(memory="unknown")
def sparse_indices(input: Tensor) -> Dims:
    """A row of indices for each sparse dim (torch.Tensor.indices)."""
    return Dims.of(None, None)


@rule(memory="unknown")
def sparse_part(input: Tensor) -> Dims:
    """Unknown dims: the rank is the number of dense dims (torch.Tensor.values)."""
    return OPEN
