"""Tensors made of vectors and matrices: grids, products of sets, blocks, diagonals, counts.

And images that are sampled at the places of a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from namecheck.core import names as naming
from namecheck.core.dims import (
    ANY_DIM,
    ANYWHERE,
    OPEN,
    Dim,
    Dims,
    Size,
    added,
    agree,
    locate,
    merged,
    new_dim,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Unknown
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import DimArgument, Sizes, Tensors
from namecheck.rules.broadcasting import check_one
from namecheck.rules.concatenations import put_together
from namecheck.rules.dim_map import of_one_rank, show_sizes
from namecheck.rules.reductions import kept_at_one
from namecheck.rules.registry import rule
from namecheck.rules.scans import unknown_of_rank

NEW = Dim(None, 1, purposeful=True)


@rule(memory="unknown")
def meshgrid(tensors: Tensors, indexing: str | Unknown | None = None) -> tuple[Dims, ...] | Unknown:
    """One grid for each vector; each grid has a dim for every vector (torch.meshgrid)."""
    if isinstance(tensors, (Many, Unknown)):
        return UNKNOWN
    for tensor in tensors:
        if tensor.dims.min_rank > 1:
            raise Contradiction(
                "NC207",
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{tensor.dims.show()}",
                help="A grid is made of vectors.",
            )
    dims = [_vector(tensor.dims) for tensor in tensors]
    if isinstance(indexing, Unknown) and len(dims) > 1:
        dims[:2] = [ANY_DIM, ANY_DIM]
    elif indexing == "xy":
        dims[:2] = dims[1::-1]
    grid = Dims(tuple(dims))
    naming.check_distinct(grid.names)
    return (grid,) * len(tensors)


def _vector(dims: Dims) -> Dim:
    """The dim of a vector; a number gives a dim of size 1."""
    if dims.rank is None:
        return dims.prefix[0] if dims.prefix else ANY_DIM
    return dims.prefix[0] if dims.prefix else NEW


@rule(memory="unknown")
def cartesian_prod(tensors: Tensors) -> Dims:
    """A row for each combination; a single vector is returned unchanged (torch.cartesian_prod)."""
    if isinstance(tensors, (Many, Unknown)):
        return OPEN
    for tensor in tensors:
        _check_vector(tensor.dims)
    dims = [_vector(tensor.dims) for tensor in tensors]
    if not dims:
        raise Contradiction("NC114", "meshgrid expects a non-empty TensorList")
    return Dims((dims[0],) if len(dims) == 1 else (merged(dims), Dim(None, len(dims))))


def _check_vector(dims: Dims) -> None:
    if dims.rank is not None and dims.rank != 1:
        raise Contradiction(
            "NC207",
            f"Expect a 1D vector, but got shape {show_sizes(dims)}",
            help="Give vectors.",
        )


@rule(memory="unknown")
def combinations(
    input: Tensor, r: int | Unknown = 2, with_replacement: bool | Unknown = False
) -> Dims:
    """A row for each combination of elements (torch.combinations)."""
    _check_vector(input.dims)
    size = _vector(input.dims).size
    count: Size = UNKNOWN
    if isinstance(size, int) and isinstance(r, int) and isinstance(with_replacement, bool):
        count = comb(size + (r - 1) * with_replacement, r) if r > 0 else 0
    if isinstance(r, Unknown):
        return Dims((Dim(None),), open=True)  # of no elements there is no second dim
    if r == 0:
        return Dims((Dim(None, 0),))
    return Dims((Dim(None, count), Dim(None, r)))


@rule(memory="unknown")
def block_diag(tensors: Tensors) -> Dims:
    """The rows and the columns of all matrices, each concatenated (torch.block_diag)."""
    if isinstance(tensors, (Many, Unknown)) or any(tensor.dims.open for tensor in tensors):
        return unknown_of_rank(2)
    for number, tensor in enumerate(tensors):
        if tensor.dims.min_rank > 2:
            raise Contradiction(
                "NC207",
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{number} has {tensor.dims.min_rank} dimensions",
                help="Blocks are matrices.",
            )
    blocks = [(NEW,) * (2 - tensor.dims.min_rank) + tensor.dims.prefix for tensor in tensors]
    sides = list(zip(*blocks, strict=True)) if blocks else [(), ()]
    return Dims(tuple(put_together(side) for side in sides))


@rule(memory="unknown")
def diag_embed(
    input: Tensor,
    offset: int | Unknown = 0,
    dim1: DimArgument = -2,
    dim2: DimArgument = -1,
) -> Dims:
    """The last dim becomes both sides of a square at `dim1` and `dim2` (torch.diag_embed)."""
    if input.dims.rank is None:
        return OPEN
    rank = input.dims.rank
    places = {locate(Dims((Dim(None),) * (rank + 1)), dim) for dim in (dim1, dim2)}
    if ANYWHERE in places:
        return unknown_of_rank(rank + 1)
    if rank == 0 or len(places) < 2:
        raise Contradiction(
            "NC203",
            f"diagonal dimensions cannot be identical {dim1}, {dim2}",
            help="Give a vector, and two different dimensions of the result.",
        )
    side = side_of_square(input.dims.prefix[-1], offset)
    others = iter(input.dims.prefix[:-1])
    return Dims(tuple(side if place in places else next(others) for place in range(rank + 1)))


def side_of_square(diagonal: Dim, offset: int | Unknown) -> Dim:
    """The side of the square whose diagonal is this vector."""
    if isinstance(offset, Unknown):
        return Dim(None if isinstance(diagonal.name, str) else UNKNOWN)
    size = added((diagonal.size, abs(offset)))
    if isinstance(diagonal.name, Axis):
        return Dim(Axis(diagonal.name.name, ordered=diagonal.name.ordered), size)
    return Dim(UNKNOWN if diagonal.name is UNKNOWN else None, size)


@rule(memory="unknown")
def sum_to_size(input: Tensor, size: Sizes) -> Dims:
    """The dims summed to these sizes, which must broadcast to the input's (sum_to_size)."""
    if isinstance(size, Unknown) or input.dims.rank is None:
        return OPEN
    if len(size) > input.dims.rank:
        raise _not_expandable(size, input.dims)
    kept = input.dims.prefix[input.dims.rank - len(size) :]
    for dim, extent in zip(kept, size, strict=True):
        if extent != 1 and agree(dim.size, extent) is Answer.NO:
            raise _not_expandable(size, input.dims)
    return Dims(
        tuple(
            kept_at_one(dim) if extent == 1 else ANY_DIM if isinstance(extent, Unknown) else dim
            for dim, extent in zip(kept, size, strict=True)
        )
    )


def _not_expandable(sizes: Sequence[Size], dims: Dims) -> Contradiction:
    shown = show_sizes(Dims.of(*[None] * len(sizes), sizes=sizes))
    return Contradiction(
        "NC201",
        f"size {{{shown}}} is not expandable to size {{{show_sizes(dims)}}}.",
        help="Each size is that of the dim, or 1.",
    )


@rule(memory="unknown")
def samples_grid(input: Tensor, grid: Tensor) -> Dims:
    """The input's batch and channels, then the grid's positions (nn.functional.grid_sample)."""
    dims, grid_dims = of_one_rank(input.dims, grid.dims)
    if dims.rank is None or grid_dims.rank is None:
        _check_coordinates(dims, grid_dims)
        return OPEN
    if dims.rank != grid_dims.rank or dims.rank < 3:
        raise Contradiction(
            "NC207",
            "grid_sampler(): expected input and grid to have same number of dimensions, but "
            f"got {input.dims.show()} and {grid.dims.show()}",
            help="The grid has the batch, the places, and the coordinates.",
        )
    check_one("grid_sampler()", "the batches of both", dims[0], grid_dims[0])
    _check_coordinates(dims, grid_dims)
    result = Dims((*dims.prefix[:2], *grid_dims.prefix[1:-1]))
    naming.check_distinct(result.names)
    return result


def _check_coordinates(dims: Dims, grid_dims: Dims) -> None:
    """Refuse a grid whose last dim has not one coordinate for each dim of an image, 2 or 3."""
    count = grid_dims[-1].size
    counts = (2, 3) if dims.rank not in (4, 5) else (dims.rank - 2,)
    if isinstance(count, int) and count not in counts and grid_dims.rank in (None, 4, 5):
        raise Contradiction(
            "NC201",
            f"grid_sampler(): expected grid to have size {counts[0]} in last dimension, but got "
            f"grid with sizes {show_sizes(grid_dims)}",
            help="The last dim of the grid has the coordinates of each place.",
        )


@rule(memory="unknown")
def affine_grid(theta: Tensor, size: Sizes) -> Dims:
    """The batch, the positions in an image, the coordinates (nn.functional.affine_grid)."""
    if not isinstance(size, (tuple, list)):
        return OPEN
    if len(size) not in (4, 5):
        raise Contradiction(
            "NC114",
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {show_sizes(Dims.of(*[None] * len(size), sizes=size))}.",
            error="NotImplementedError",
            help="Give the sizes of a batch of images: batch, channels, and two or three more.",
        )
    batch, _, *places = map(new_dim, size)
    what = "the batch of the maps and that of the size"
    check_one("affine_grid_generator", what, theta.dims[0], batch, by_label=False)
    own = theta.dims[0] if theta.dims.rank else batch
    return Dims((own, *places, Dim(None, len(places))))
