"""Operators that look elements up: by index, by search, by what they are."""

from __future__ import annotations

from namecheck.names import UNKNOWN, Contradiction, Unknown
from namecheck.rules.reductions import DimArgument
from namecheck.rules.refusals import refuse_named
from namecheck.rules.registry import rule
from namecheck.values import OPEN, Dim, Dims, Many, Tensor, locate


@rule
def gather(input: Tensor, dim: DimArgument | None, index: Tensor) -> Dims:
    """The input's names, with the sizes of the index (torch.gather)."""
    locate(input.dims, dim)
    ranks = input.dims.rank, index.dims.rank
    if None not in ranks and max(ranks[0] or 0, 1) != max(ranks[1] or 0, 1):
        raise Contradiction(
            "NC207",
            "Index tensor must have the same number of dimensions as input tensor",
            help="Give an index for every element of the result.",
        )
    if input.dims.rank is None or input.dims.rank != index.dims.rank:
        several = max(input.dims.min_rank, index.dims.min_rank) > 1  # so that both ranks agree
        return input.dims.sizeless() if input.dims.open and several else OPEN
    pairs = zip(input.dims.prefix, index.dims.prefix, strict=True)
    return Dims(tuple(Dim(own.name, other.size) for own, other in pairs))


@rule
def take(input: Tensor, index: Tensor) -> Dims:
    """The dims of the index (torch.take)."""
    return index.dims


@rule
def take_along_dim_natively(
    input: Tensor, indices: Tensor, dim: DimArgument | None = None
) -> Unknown:
    """torch 2.12 refuses names under the name of what it calls (recorded: take_along_dim)."""
    if dim is None:
        refuse_named("view", [input, indices])
    refuse_named("remainder.Scalar", [indices])
    refuse_named("gather", [input])
    return UNKNOWN


@rule
def nonzero(
    input: Tensor, as_tuple: bool | Unknown = False
) -> Dims | tuple[Dims, ...] | Many | Unknown:
    """A row for each place; or the indices dim by dim (torch.nonzero)."""
    if as_tuple is False:
        return argwhere(input)
    if isinstance(as_tuple, Unknown):
        return UNKNOWN
    one = Dims.of(None)
    return Many(Tensor(one)) if input.dims.rank is None else (one,) * max(input.dims.rank, 1)


@rule
def argwhere(input: Tensor) -> Dims:
    """A row for each place (torch.argwhere)."""
    rank = input.dims.rank
    return Dims((Dim(None), Dim(None, UNKNOWN if rank is None else rank)))


@rule
def searchsorted(sorted_sequence: Tensor, input: Tensor | float) -> Dims:
    """The dims of the values looked up (torch.searchsorted)."""
    return input.dims if isinstance(input, Tensor) else Dims()


@rule
def bucketize(input: Tensor | float) -> Dims:
    """The dims of the values looked up (torch.bucketize)."""
    return input.dims if isinstance(input, Tensor) else Dims()


@rule
def isin(elements: Tensor | float, test_elements: Tensor | float) -> Dims:
    """The dims of the elements looked up (torch.isin)."""
    return elements.dims if isinstance(elements, Tensor) else Dims()


@rule
def multinomial(input: Tensor, num_samples: int | Unknown) -> Dims:
    """The rows stay; the samples have no name (torch.multinomial)."""
    if input.dims.rank is None:
        return OPEN
    samples = Dim(None, num_samples if isinstance(num_samples, int) else UNKNOWN)
    return Dims((*input.dims.prefix[:-1], samples))


@rule
def one_hot(input: Tensor, num_classes: int | Unknown = -1) -> Dims:
    """A new last dim for the classes (nn.functional.one_hot)."""
    known = isinstance(num_classes, int) and num_classes >= 0
    classes = Dim(None, num_classes if known else UNKNOWN)
    dims = input.dims
    if dims.open:
        return Dims(dims.prefix, (*dims.suffix, classes), True)
    return Dims((*dims.prefix, classes))


@rule
def embedding(input: Tensor, weight: Tensor) -> Dims:
    """A vector for each index: the index's dims, then the weight's last (nn.functional)."""
    if weight.dims.rank is not None and weight.dims.rank != 2:
        raise Contradiction(
            "NC207", "'weight' must be 2-D", help="The weight has a row for each index."
        )
    last = weight.dims.from_right(1) or Dim()
    dims = input.dims
    if dims.open:
        return Dims(dims.prefix, (*dims.suffix, last), True)
    return Dims((*dims.prefix, last))


@rule
def embedding_module(input: Tensor, embedding_dim: int | Unknown = UNKNOWN) -> Dims:
    """A vector without a name for each index (nn.Embedding)."""
    vector = Dims(
        (Dim(None), Dim(None, embedding_dim if isinstance(embedding_dim, int) else UNKNOWN))
    )
    return embedding(input, Tensor(vector))


@rule
def vander_natively(x: Tensor) -> Dims:
    """torch 2.12 supports names here in name only (recorded: vander)."""
    refuse_named("unsqueeze", [x])
    return Dims.of(None, None)
