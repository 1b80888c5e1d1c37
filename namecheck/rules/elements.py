"""Operators that look elements up: by index, by search, by a property."""

from __future__ import annotations

from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, Size, locate, new_dim
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import DimArgument, TensorOrNumber, may_be_none
from namecheck.rules.broadcasting import check_one
from namecheck.rules.dim_map import joined
from namecheck.rules.queries import check_any_dims
from namecheck.rules.registry import rule
from namecheck.rules.scans import resized


@rule(memory="fresh")
def take(input: Tensor, indices: Tensor) -> Dims:
    """The dims of the index (torch.take)."""
    return indices.dims


@rule(memory="unknown")
def nonzero(
    input: Tensor, as_tuple: bool | Unknown = False, out: Tensor | None = None
) -> Dims | tuple[Dims, ...] | Many | Unknown:
    """A row for each nonzero element; as a tuple, a vector for each dim (torch.nonzero)."""
    if as_tuple is False:
        return argwhere(input)
    if isinstance(as_tuple, Unknown) or (out is not None and may_be_none(out)):
        return UNKNOWN
    if out is not None:
        raise Contradiction(
            "NC114",
            "nonzero does not support the out kwarg when as_tuple is True",
            help="Leave out `out=`, or take the rows of indices as one tensor.",
        )
    one = Dims.of(None)
    return Many(Tensor(one)) if input.dims.rank is None else (one,) * max(input.dims.rank, 1)


@rule(memory="unknown")
def argwhere(input: Tensor) -> Dims:
    """A row for each nonzero element (torch.argwhere)."""
    rank = input.dims.rank
    return Dims((Dim(None), Dim(None, UNKNOWN if rank is None else rank)))


@rule(memory="fresh")
def searchsorted(sorted_sequence: Tensor, input: TensorOrNumber) -> Dims:
    """The dims of the values; rows match rows, or one vector matches all (torch.searchsorted)."""
    if not isinstance(input, Tensor):
        return Dims()
    sequence, ranks = sorted_sequence.dims, (sorted_sequence.dims.rank, input.dims.rank)
    if None not in ranks and ranks[0] != 1 and ranks[0] != ranks[1]:
        raise Contradiction(
            "NC207",
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {sequence.show()} and input value tensor {input.dims.show()}",
            help="Give one vector of boundaries, or one for each row of the input.",
        )
    if ranks[0] == ranks[1] and ranks[0] is not None:
        for one, other in zip(sequence.prefix[:-1], input.dims.prefix[:-1], strict=True):
            check_one("torch.searchsorted()", "the rows of both", one, other, by_label=False)
    return input.dims


@rule(memory="fresh")
def bucketize(input: TensorOrNumber) -> Dims:
    """The dims of the values looked up (torch.bucketize)."""
    return input.dims if isinstance(input, Tensor) else Dims()


@rule(memory="unknown")
def isin(elements: object, test_elements: object) -> Dims:
    """The dims of the elements looked up (torch.isin)."""
    return elements.dims if isinstance(elements, Tensor) else Dims()


@rule(memory="fresh")
def multinomial(input: Tensor, num_samples: Size) -> Dims:
    """The rows are kept; the samples are an unnamed dim (torch.multinomial)."""
    if input.dims.rank is None:
        return OPEN
    return Dims((*input.dims.prefix[:-1], new_dim(num_samples)))


@rule(memory="fresh")
def one_hot(input: Tensor, num_classes: Size = -1) -> Dims:
    """A new last dim for the classes (nn.functional.one_hot)."""
    classes = new_dim(UNKNOWN if num_classes == -1 else num_classes)
    return joined(input.dims, Dims((classes,)))


@rule(memory="fresh")
def embedding(input: Tensor, weight: Tensor) -> Dims:
    """The index's dims, then the last dim of the weight (nn.functional.embedding)."""
    if weight.dims.rank is not None and weight.dims.rank != 2:
        raise Contradiction(
            "NC207", "'weight' must be 2-D", help="The weight has a row for each index."
        )
    return joined(input.dims, Dims((weight.dims.from_right(1) or ANY_DIM,)))


@rule(memory="fresh")
def embedding_module(input: Tensor, embedding_dim: Size = UNKNOWN) -> Dims:
    """The index's dims, then the features, named by a symbolic size (nn.Embedding)."""
    return embedding(input, Tensor(Dims((Dim(None), new_dim(embedding_dim)))))


@rule(memory="unknown")
def unique(
    input: Tensor,
    return_inverse: bool | Unknown = False,
    return_counts: bool | Unknown = False,
    dim: DimArgument = None,
) -> Dims | tuple[Dims, ...] | Unknown:
    """The distinct elements, or slices along `dim`; inverse indices; counts (torch.unique).

    A label along `dim` is kept; an axis becomes a part of itself.
    """
    if isinstance(return_inverse, Unknown) or isinstance(return_counts, Unknown):
        return UNKNOWN
    check_any_dims(input, dim)
    if isinstance(dim, Unknown):
        values, inverse = OPEN, OPEN
    elif dim is None:
        values, inverse = Dims.of(None), input.dims
    else:
        place = locate(input.dims, dim)
        values, inverse = resized(input.dims, place), Dims((input.dims[place],))
    counts = Dims.of(None)
    several = [values, *[inverse] * return_inverse, *[counts] * return_counts]
    return tuple(several) if len(several) > 1 else values


@rule(memory="unknown")
def unique_consecutive(
    input: Tensor,
    return_inverse: bool | Unknown = False,
    return_counts: bool | Unknown = False,
    dim: DimArgument = None,
    is_swapped: bool | Unknown = False,
) -> Dims | tuple[Dims, ...] | Unknown:
    """As `unique`; of a `return_inverse` by position the function returns something else.

    ``torch.unique_consecutive(x, True)`` gives counts, where these were not asked for empty ones.
    """
    if is_swapped is not False:
        return UNKNOWN
    return unique(input, return_inverse, return_counts, dim)


@rule(memory="unknown")
def counts(input: Tensor, bins: Size = 100) -> Dims:
    """A dim of bins, named only by a symbolic size (torch.histc)."""
    return Dims((Dim() if isinstance(bins, Unknown) else new_dim(bins),))


@rule(memory="unknown")
def counts_between(input: Tensor, bins: Tensor | Size = 100) -> tuple[Dims, Dims]:
    """A dim of bins, and a dim of their edges (torch.histogram)."""
    if not isinstance(bins, Tensor):
        more = UNKNOWN if isinstance(bins, Unknown) else bins + 1
        return counts(input, bins), counts(input, more)
    edges = bins.dims.prefix[0].size if bins.dims.rank == 1 else UNKNOWN
    fewer = UNKNOWN if isinstance(edges, Unknown) else edges - 1
    return Dims((Dim(None, fewer),)), bins.dims


@rule(memory="unknown")
def distances_of_pairs(input: Tensor) -> Dims:
    """One unnamed dim of pairs of rows (nn.functional.pdist)."""
    rows = input.dims.from_right(2)
    size = UNKNOWN if rows is None else rows.size
    count = UNKNOWN if isinstance(size, Unknown) else size * (size - 1) // 2
    return Dims((Dim(None, count),))
