"""Products built from contractions: chains, linear layers, inner, outer and tensor products.

`namecheck.rules.contractions` decides which dims they contract and keep.
"""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.core import names as naming
from namecheck.core.dims import OPEN, Dims, locate, product
from namecheck.core.memory_order import is_laid_out
from namecheck.core.names import Answer, Contradiction, Unknown
from namecheck.core.tensors import Many, Tensor
from namecheck.rules import dim_map
from namecheck.rules.arguments import may_be_none
from namecheck.rules.broadcasting import broadcast
from namecheck.rules.contractions import (
    add_product,
    check_axes,
    check_contracted,
    check_rank,
    check_sides,
    closed,
    differ,
    last_dim,
    matmul,
    matrix_product,
    with_bias,
    words,
)
from namecheck.rules.permutations import transposes_matrix
from namecheck.rules.refusals import refuse_named
from namecheck.rules.registry import rule


@rule(memory="unknown")
def chain_matmul(matrices: Sequence[Tensor] | Many) -> Dims:
    """A product of several matrices (torch.chain_matmul, torch.linalg.multi_dot)."""
    if isinstance(matrices, Many):
        return OPEN
    if not matrices:
        raise Contradiction("NC114", "chain_matmul(): Expected one or more matrices")
    result: Dims = matrices[0].dims
    for matrix in matrices[1:]:
        result = matmul(Tensor(result), matrix)
    return result


@rule(memory="fresh")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Dims:
    """The input times the transposed weight, plus a bias (torch.nn.functional.linear)."""
    product = _linear(input.dims, weight.dims)
    naming.check_distinct(product.names)
    return product if bias is None else with_bias(product, bias.dims)


def _linear(dims: Dims, weight: Dims) -> Dims:
    if dims.rank == 0 or weight.rank == 0:
        raise Contradiction(
            "NC207",
            f"both arguments to linear need to be at least 1D, but they are "
            f"{dim_map.show_rank(dims)}D and {dim_map.show_rank(weight)}D",
        )
    if weight.min_rank > 2:
        raise Contradiction(
            "NC207",
            f"t() expects a tensor with <= 2 dimensions, but self is {dim_map.show_rank(weight)}D",
        )
    if weight.rank is None:
        return dim_map.without_right(dims, 1) if dims.rank == 0 else OPEN
    turned = Dims(weight.prefix[::-1])
    product = matrix_product(dims, turned)
    check_contracted(dims, turned)
    check_sides(dims, turned)
    return product


@rule(strided=True)
def linear_natively(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Dims:
    """As `linear`; torch 2.12 folds a contiguous input with a bias to a matrix (recorded).

    To the product of any other input it adds the bias in place.
    """
    if bias is None:
        return _linear(input.dims, weight.dims)
    if may_be_none(bias):
        return OPEN
    turned = transposes_matrix(weight)
    if input.dims.rank == 2:
        return add_product(bias.dims, input.dims, turned)
    if input.dims.rank is None or bias.dims.rank is None:
        return OPEN
    is_folded = _is_folded(input, bias.dims.rank)
    if is_folded is not Answer.YES:
        try:
            return _added_in_place(input.dims, weight.dims, bias.dims)
        except Contradiction:
            if is_folded is Answer.NO:
                raise
    refuse_named("view", (input,))
    rows = product(input.dims.sizes[:-1])
    folded = Dims.of(None, None, sizes=(rows, last_dim(input.dims).size))
    sums = add_product(bias.dims, folded, turned)
    refuse_named("view", (Tensor(sums),))
    return dim_map.joined(dim_map.without_right(input.dims, 1), dim_map.last(sums, 1))


def _added_in_place(dims: Dims, weight: Dims, bias: Dims) -> Dims:
    product_dims = _linear(dims, weight)
    return dim_map.take_names(product_dims, with_bias(product_dims, bias))


def _is_folded(input: Tensor, bias_rank: int) -> Answer:
    """Whether torch folds an input of a linear layer to a matrix, to add a bias of this rank."""
    sizes = input.dims.sizes
    natural = tuple(range(len(sizes)))
    return Answer.NO if bias_rank == 0 else is_laid_out(input.memory, sizes, natural)


@rule(memory="loses", overlaps="refused")
def inner(input: Tensor, other: Tensor) -> Dims:
    """The last dims are contracted; the other dims of both are kept (torch.inner)."""
    left, right = input.dims, other.dims
    if 0 in (left.rank, right.rank):
        return broadcast(left, right)
    if left.min_rank and right.min_rank and differ(last_dim(left), last_dim(right)):
        raise Contradiction(
            "NC202",
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{dim_map.show_sizes(left)} and {dim_map.show_sizes(right)}",
            names=words(last_dim(left), last_dim(right)),
        )
    if not (left.min_rank and right.min_rank):
        return OPEN
    check_axes(last_dim(left), last_dim(right))
    return _distinct(dim_map.without_right(left, 1), dim_map.without_right(right, 1))


def _distinct(*lists: Dims) -> Dims:
    """Lists of dims concatenated; no label may occur twice."""
    result = dim_map.joined(*lists)
    naming.check_distinct(result.names)
    return result


@rule
def inner_natively(input: Tensor, other: Tensor) -> Dims:
    """As `inner`; torch 2.12 supports names only where one input is a scalar (recorded: inner)."""
    if 0 in (input.dims.rank, other.dims.rank):
        return inner(input, other)
    if 0 in (input.dims.min_rank, other.dims.min_rank):
        return OPEN  # one of them may be a scalar
    result = inner(Tensor(input.dims.unnamed()), Tensor(other.dims.unnamed()))
    refuse_named("permute", (input, other))
    return result


@rule(memory="fresh", overlaps="refused")
def outer(input: Tensor, vec2: Tensor) -> Dims:
    """The product of every element of one vector with every element of the other (torch.outer)."""
    return _distinct(*_vectors(input, vec2, ("outer", "self", "vec2")))


def _vectors(input: Tensor, other: Tensor, spoken: tuple[str, str, str]) -> tuple[Dims, Dims]:
    """Two vectors, as closed lists; `spoken` are the names of the call and of its arguments."""
    call, *roles = spoken
    for tensor, role in zip((input, other), roles, strict=True):
        got = dim_map.show_rank(tensor.dims)
        check_rank(tensor.dims, 1, f"{call}: Expected 1-D argument {role}, but got {got}-D")
    return closed(input.dims, 1), closed(other.dims, 1)


@rule(memory="preserves", overlaps="refused", aligns="matched")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor) -> Dims:
    """The outer product of two vectors, and a matrix added (torch.addr)."""
    product = _distinct(*_vectors(vec1, vec2, ("addr", "vec1", "vec2")))
    return with_bias(product, input.dims)


@rule(memory="unknown")
def tensordot(input: Tensor, other: Tensor, contracted: object = 2) -> Dims:
    """Some dims of both are contracted; the other dims are kept (torch.tensordot)."""
    left, right = input.dims, other.dims
    if left.open or right.open:
        return OPEN
    pairs = _contracted_pairs(left, right, contracted)
    if pairs is None:
        return OPEN
    for mine, facing in pairs:
        if differ(left[mine], right[facing]) and 1 not in (left[mine].size, right[facing].size):
            raise Contradiction(
                "NC202",
                f"contracted dimensions need to match, but first has size {left[mine].size} in dim "
                f"{mine} and second has size {right[facing].size} in dim {facing}",
                names=words(left[mine], right[facing]),
            )
        check_axes(left[mine], right[facing])
    contracted_places = ({mine for mine, _ in pairs}, {facing for _, facing in pairs})
    return _distinct(
        Dims(tuple(dim for place, dim in left.walk() if place not in contracted_places[0])),
        Dims(tuple(dim for place, dim in right.walk() if place not in contracted_places[1])),
    )


def _contracted_pairs(left: Dims, right: Dims, contracted: object) -> list[tuple[int, int]] | None:
    """The pairs of positions that are contracted; None where they are unknown."""
    if isinstance(contracted, (Tensor, Unknown)):
        return None
    if isinstance(contracted, int):
        return _last_with_first(left, right, contracted)
    if not _pair_of_lists(contracted):
        raise Contradiction(
            "NC114",
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={contracted}",
        )
    first, second = contracted[0], contracted[1]  # type: ignore[index]
    if len(first) != len(second):
        raise Contradiction("NC114", "both dimension lists should have same length")
    places = [
        (locate(left, one), locate(right, other)) for one, other in zip(first, second, strict=True)
    ]
    fixed = [(a, b) for a, b in places if isinstance(a, int) and isinstance(b, int)]
    return fixed if len(fixed) == len(places) else None


def _last_with_first(left: Dims, right: Dims, count: int) -> list[tuple[int, int]]:
    if count < 0:
        raise Contradiction("NC114", f"tensordot expects dims >= 0, but got dims={count}")
    if count > min(len(left.prefix), len(right.prefix)):
        raise Contradiction(
            "NC207", f"tensordot expects dims < ndim_a or ndim_b, but got dims={count}"
        )
    return [(len(left.prefix) - count + index, index) for index in range(count)]


def _pair_of_lists(obj: object) -> bool:
    return (
        isinstance(obj, (tuple, list))
        and len(obj) == 2
        and all(isinstance(item, (tuple, list)) for item in obj)
    )


@rule(memory="unknown", aligns="matched")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Dims:
    """The inputs' outer dims, unified, and the weight's first dim."""
    _check_bilinear(input1.dims, input2.dims, weight.dims)
    if weight.dims.open or not (input1.dims.min_rank and input2.dims.min_rank):
        return OPEN
    outer_dims = broadcast(
        dim_map.without_right(input1.dims, 1), dim_map.without_right(input2.dims, 1)
    )
    product = _distinct(outer_dims, Dims(weight.dims.prefix[:1]))
    return product if bias is None else with_bias(product, bias.dims)


def _check_bilinear(left: Dims, right: Dims, weight: Dims) -> None:
    """Check ranks and sizes (recorded: bilinear)."""
    ranks = left.rank, right.rank
    if None not in ranks and (ranks[0] != ranks[1] or ranks[0] == 0):
        raise Contradiction(
            "NC207",
            f"bilinear(): input dimensions do not match: got {ranks[0]} and {ranks[1]}",
        )
    if weight.rank is not None and weight.rank < 3:
        raise Contradiction(
            "NC203",
            f"Dimension out of range (expected to be in range of [-{weight.rank}, "
            f"{weight.rank - 1}], but got 2)",
            error="IndexError",
        )
    for place, dims in ((1, left), (2, right)):
        own, expected = last_dim(dims), weight[place]
        if dims.min_rank and not weight.open and differ(own, expected):
            raise Contradiction(
                "NC202",
                f"bilinear(): input{place} size does not match weight size: got {own.size} but "
                f"expected {expected.size}",
                names=words(own),
            )
        if dims.min_rank and not weight.open:
            check_axes(own, expected)
