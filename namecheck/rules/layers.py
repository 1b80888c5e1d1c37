"""Operators of torch.nn: linear layers, normalisation, embeddings, dropout."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.core.dims import ANY_DIM, Dim, Dims, Size, new_dim, of_rank
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.rules.broadcasting import broadcast, check_one, check_place
from namecheck.rules.contractions import check_contracted
from namecheck.rules.dim_map import joined, without_right
from namecheck.rules.products import bilinear
from namecheck.rules.registry import rule


@rule(memory="fresh")
def linear_module(input: Tensor, in_features: Size = UNKNOWN, out_features: Size = UNKNOWN) -> Dims:
    """The input's names but the last; a symbolic size names the output features (nn.Linear)."""
    weight = Dims((new_dim(in_features), new_dim(out_features)))
    if input.dims.min_rank:
        check_contracted(input.dims, weight)
        what = "the last dim and the layer's features"
        check_place("linear", what, input.dims.from_right(1), in_features, input.dims)
    elif input.dims.rank == 0:
        raise Contradiction(
            "NC207",
            "both arguments to linear need to be at least 1D, but they are 0D and 2D",
            help="A linear layer takes the last dim of its input.",
        )
    return joined(without_right(input.dims, 1), Dims(weight.prefix[1:]))


@rule(memory="unknown", aligns="matched")
def bilinear_module(
    input1: Tensor,
    input2: Tensor,
    in1_features: Size = UNKNOWN,
    in2_features: Size = UNKNOWN,
    out_features: Size = UNKNOWN,
) -> Dims:
    """The inputs' outer dims unified, then the output features (nn.Bilinear)."""
    weight = tuple(map(new_dim, (out_features, in1_features, in2_features)))
    return bilinear(input1, input2, Tensor(Dims(weight)))


@rule(memory="fresh")
def normalizes_last(
    input: Tensor,
    normalized_shape: Size | Sequence[Size] = UNKNOWN,
    weight: Tensor | None = None,
) -> Dims:
    """The input's names; its last dims must have the normalized shape (nn.LayerNorm)."""
    sizes = _listed(normalized_shape)
    if not sizes:
        raise Contradiction(
            "NC207",
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []",
            help="The layer normalises over its last dims.",
        )
    if input.dims.rank is not None and len(sizes) > input.dims.rank:
        raise Contradiction(
            "NC207",
            f"Expected input with {len(sizes)} dims at least, but got {input.dims.show()}",
            help="The layer normalises over its last dims.",
        )
    what = "the dim normalised over and the layer's"
    for offset in range(1, len(sizes) + 1):
        dim = input.dims.from_right(offset)
        check_one("layer_norm", what, dim, new_dim(sizes[-offset]), by_label=False)
        if weight is not None:
            check_one("layer_norm", what, dim, weight.dims.from_right(offset), by_label=False)
    if len(sizes) == 1:
        check_place("layer_norm", what, input.dims.from_right(1), sizes[0], input.dims)
    return input.dims


def _listed(normalized: Size | Sequence[Size]) -> list[Size]:
    return [normalized] if isinstance(normalized, (int, Expression, Unknown)) else list(normalized)


@rule(memory="suggests")
def normalizes_channels(input: Tensor, num_features: Size = UNKNOWN, spatial: int = 0) -> Dims:
    """The input's names; dim 1 is the channels (nn.BatchNorm1d, nn.GroupNorm)."""
    rank = input.dims.rank
    ranks = {0: range(2, 99), 1: (2, 3)}.get(spatial, (spatial + 2,))
    if rank is not None and rank not in ranks:
        expected = {0: "at least 2D", 1: "2D or 3D"}.get(spatial, f"{spatial + 2}D")
        raise Contradiction(
            "NC207",
            f"expected {expected} input (got {rank}D input)",
            error="ValueError",
            help="The channels are the second dim, after the batch.",
        )
    channels = _channels(input.dims)
    what = "the second dim and the layer's channels"
    check_one("batch_norm", what, channels, new_dim(num_features), by_label=False)
    check_place("batch_norm", what, channels, num_features, input.dims)
    return input.dims


@rule(memory="suggests")
def normalizes_by_vectors(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
) -> Dims:
    """The input's names; dim 1 must have the size of every vector argument (F.batch_norm)."""
    channels = _channels(input.dims)
    what = "the second dim and the channels that it is normalised by"
    for vector in (running_mean, running_var, weight, bias):
        if vector is not None and vector.dims.rank == 1:
            check_one("batch_norm", what, channels, vector.dims[0], by_label=False)
    return input.dims


def _channels(dims: Dims) -> Dim:
    """The dim of channels, which torch does not look at where there are no elements."""
    return ANY_DIM if 0 in dims.sizes else dims[1]


@rule(memory="first")
def dropout1d(input: Tensor) -> Dims:
    """The input's dims: perhaps a batch, then channels, then one more (nn.functional.dropout1d)."""
    if input.dims.rank is not None and input.dims.rank not in (2, 3):
        raise Contradiction(
            "NC207",
            f"dropout1d: Expected 2D or 3D input, but received a {input.dims.rank}D input. Note "
            "that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
            "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
            "inputs).",
            help="Use `dropout2d` or `dropout3d` for images and volumes.",
        )
    return input.dims


@rule
def rms_norm_natively(input: Tensor, weight: Tensor | None = None) -> Dims:
    """torch 2.12 multiplies by the weight, whose names must unify (recorded: rms_norm)."""
    return input.dims if weight is None else broadcast(input.dims, weight.dims)


@rule(memory="unknown")
def embeds_bags(input: Tensor, weight: Tensor, offsets: Tensor | Unknown | None = None) -> Dims:
    """A vector for each bag: for each row of a matrix, or for each of `offsets` (embedding_bag)."""
    if of_rank(weight.dims, 2) is None:
        raise _not_bags("weight has to be a 2D Tensor", weight.dims)
    if input.dims.rank is not None and input.dims.rank not in (1, 2):
        raise _not_bags("input has to be 1D or 2D Tensor", input.dims)
    last = weight.dims.from_right(1) or ANY_DIM
    if input.dims.rank == 2:
        return Dims((input.dims.prefix[0], last))
    if input.dims.rank is None or not isinstance(offsets, Tensor):
        return Dims((ANY_DIM if offsets is not None or input.dims.open else Dim(None), last))
    if of_rank(offsets.dims, 1) is None:
        raise _not_bags("offsets has to be a 1D Tensor", offsets.dims)
    return Dims((offsets.dims[0], last))


def _not_bags(reason: str, dims: Dims) -> Contradiction:
    return Contradiction(
        "NC207",
        f"embedding_bag(): {reason}, but got Tensor of dims {dims.show()}",
        help="Bags are the rows of a matrix, or parts of a vector, which start at `offsets`.",
    )


@rule(memory="unknown")
def embedding_bag_module(
    input: Tensor, embedding_dim: Size = UNKNOWN, offsets: Tensor | Unknown | None = None
) -> Dims:
    """A vector for each bag; a symbolic size names the features (nn.EmbeddingBag)."""
    return embeds_bags(input, Tensor(Dims((Dim(None), new_dim(embedding_dim)))), offsets)
