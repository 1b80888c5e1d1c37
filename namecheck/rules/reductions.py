"""Removes dimensions (name_inference.rst, the section of this name)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.devices import META
from namecheck.core.dims import OPEN, SCALAR, Dim, Dims, Position, agree, clash, locate
from namecheck.core.names import Answer, Axis, Contradiction, Name, Unknown, show_name
from namecheck.core.sizes import listed
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import DimArgument, DimArguments, TensorOrNumber
from namecheck.rules.broadcasting import broadcast
from namecheck.rules.dim_map import joined, reaching, without_right
from namecheck.rules.registry import rule


@rule(memory="fresh")
def removes_dimensions(
    input: Tensor,
    dim: DimArgument | DimArguments = None,
    keepdim: bool | Unknown = False,
) -> Dims:
    """The input's dims without those reduced over (name_inference.rst, same title)."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return _reduce_all(input.dims, keepdim)
    if isinstance(dim, Unknown):
        return OPEN
    dims = input.dims
    for each in dim if isinstance(dim, (tuple, list)) else [dim]:
        dims = reaching(dims, each)
    return reduce(dims, positions(dims, dim), keepdim)


@rule(memory="fresh")
def removes_dimensions_twice(
    input: Tensor,
    dim: DimArgument | DimArguments = None,
    keepdim: bool | Unknown = False,
) -> tuple[Dims, Dims]:
    """Two results over the same dims (recorded: std_mean, var_mean, aminmax)."""
    result = removes_dimensions(input, dim, keepdim)
    return result, result


@rule
def removes_one_dimension(
    input: Tensor, dim: DimArgument = -1, keepdim: bool | Unknown = False
) -> Dims:
    """The input's dims without the one reduced over (recorded: prod)."""
    dims = reaching(input.dims, dim)
    return reduce(dims, [locate(dims, dim)], keepdim)


@rule(memory="fresh")
def removes_one_dimension_twice(
    input: Tensor, dim: DimArgument = -1, keepdim: bool | Unknown = False
) -> tuple[Dims, Dims]:
    """Values and indices without the dim reduced over (recorded: mode, max)."""
    result = removes_one_dimension(input, dim, keepdim)
    return result, result


@rule(memory="fresh")
def kthvalue(
    input: Tensor, k: int | Unknown, dim: DimArgument = -1, keepdim: bool | Unknown = False
) -> tuple[Dims, Dims]:
    """As `removes_one_dimension_twice`; `dim` must have `k` elements (recorded: kthvalue)."""
    place = locate(input.dims, dim)
    size = input.dims[place].size if input.dims.rank != 0 else 1
    if isinstance(k, int) and isinstance(size, int) and not 1 <= k <= size:
        raise Contradiction(
            "NC206",
            f"kthvalue(): selected number k out of range for dimension {place}",
            help=f"The dimension has size {size}.",
        )
    return removes_one_dimension_twice(input, dim, keepdim)


@rule(memory="fresh")
def removes_listed_dimensions(
    input: Tensor,
    dim: DimArgument | DimArguments = None,
    keepdim: bool | Unknown = False,
) -> Dims:
    """As `removes_dimensions`, where an empty list removes nothing (recorded: all, any)."""
    if isinstance(dim, (tuple, list)) and not dim:
        return input.dims
    return removes_dimensions(input, dim, keepdim)


@rule(memory="fresh")
def removes_dimensions_of_numbers(
    input: Tensor, dim: DimArgument | DimArguments = None, keepdim: bool | Unknown = False
) -> Dims:
    """As `removes_dimensions`; on the meta device an empty list removes nothing (nansum)."""
    if isinstance(dim, (tuple, list)) and not dim and input.device == META:
        return OPEN
    return removes_dimensions(input, dim, keepdim)


@rule(memory="fresh")
def logsumexp(
    input: Tensor, dim: DimArgument | DimArguments, keepdim: bool | Unknown = False
) -> Dims:
    """As `removes_dimensions`, where `dim` is required (recorded: logsumexp)."""
    if dim is None:
        locate(input.dims, dim)
    empty_list = isinstance(dim, (tuple, list)) and not dim
    sizes = input.dims.sizes
    if empty_list and keepdim is False and input.dims.min_rank and 0 not in sizes:
        ones = [1] * len(sizes)
        raise Contradiction(
            "NC201",
            f"output with shape [] doesn't match the broadcast shape {ones}",
            help="Give the dimensions to reduce over.",
        )
    return removes_dimensions(input, dim, keepdim)


@rule(memory="fresh")
def reduces_all_or_one(
    input: Tensor, dim: DimArgument | DimArguments = (), keepdim: bool | Unknown = False
) -> Dims:
    """A scalar, or the input's dims without one (recorded: prod).

    An empty list means no dim; None is looked up as a name.
    """
    if isinstance(dim, (tuple, list)):
        return SCALAR
    return removes_one_dimension(input, dim, keepdim)


@rule(memory="unknown", aligns="matched")
def reduces_all_or_selects(
    input: Tensor,
    dim: DimArgument | DimArguments = (),
    keepdim: bool | Unknown = False,
    other: Tensor | None = None,
) -> Dims | tuple[Dims, Dims]:
    """A scalar; values and indices along a dim; or both inputs unified (recorded: max, median).

    An empty list means no dim; None is looked up as a name.
    """
    if isinstance(other, Tensor):
        return broadcast(input.dims, other.dims)
    if isinstance(dim, (tuple, list)):
        return SCALAR
    return removes_one_dimension_twice(input, dim, keepdim)


@rule(memory="moves")
def selects(input: Tensor, dim: DimArgument, index: Any) -> Dims:
    """The input's dims without the one that is indexed (recorded: select)."""
    if isinstance(dim, str):
        locate(input.dims, dim)
    if input.dims.rank == 0:
        raise Contradiction(
            "NC207",
            "select() cannot be applied to a 0-dim tensor.",
            error="IndexError",
            help="A tensor without dimensions has nothing to select from.",
        )
    place = locate(input.dims, dim)
    size = input.dims[place].size
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise Contradiction(
            "NC206",
            f"select(): index {index} out of range for tensor of size {listed(input.dims.sizes)} "
            f"at dimension {_spoken(input.dims[place].name, place)}",
            error="IndexError",
            help=f"The dimension has size {size}.",
        )
    dims = reaching(input.dims, dim)
    return dims.without(locate(dims, dim))


def _spoken(name: Name, place: Position) -> str:
    return str(place) if name is None else show_name(name)


@rule(memory="fresh")
def to_scalar(input: Tensor) -> Dims:
    """One number (torch.trace)."""
    if input.dims.rank is not None and input.dims.rank != 2:
        raise Contradiction(
            "NC207",
            f"trace: expected a matrix, but got tensor with dim {input.dims.rank}",
            help="Only matrices have a trace.",
        )
    return SCALAR


@rule(memory="unknown", square=True)
def removes_last_two(input: Tensor) -> Dims:
    """One number for each matrix (torch.det)."""
    check_square(input.dims, "linalg.det")
    return without_right(input.dims, 2)


@rule(memory="unknown", square=True)
def logdet(input: Tensor) -> Dims:
    """One number for each matrix (torch.logdet)."""
    check_square(input.dims, "logdet")
    return without_right(input.dims, 2)


def check_square(dims: Dims, operator: str) -> None:
    """Refuse matrices that are certainly not square."""
    if dims.rank is not None and dims.rank < 2:
        raise Contradiction(
            "NC207",
            f"{operator}: The input tensor A must have at least 2 dimensions.",
            help=f"The dims of the tensor are {dims.show()}.",
        )
    rows, columns = dims.from_right(2) or Dim(), dims.from_right(1) or Dim()
    axes = isinstance(rows.name, Axis) and isinstance(columns.name, Axis)
    if (axes and clash(rows, columns)) or agree(rows.size, columns.size) is Answer.NO:
        raise Contradiction(
            "NC201",
            f"{operator}: A must be batches of square matrices, but they are {rows.size} by "
            f"{columns.size} matrices",
            help="A square matrix has as many rows as columns.",
        )


@rule(memory="unknown")
def quantile(
    input: Tensor,
    q: TensorOrNumber | Unknown,
    dim: DimArgument = None,
    keepdim: bool | Unknown = False,
) -> Dims:
    """The input's dims without `dim`; several quantiles make a new first dim (torch.quantile)."""
    if isinstance(q, (int, float)) and not 0 <= q <= 1:
        raise Contradiction(
            "NC114",
            f"quantile() q must be in the range [0, 1] but got {q:g}",
            help="A quantile is a share, from 0 to 1.",
        )
    reduced = removes_dimensions(input, dim, keepdim)
    if not isinstance(q, Tensor):
        return reduced
    if q.dims.min_rank > 1:
        raise Contradiction(
            "NC207",
            "quantile() q must be a scalar or 1D tensor",
            help="Give one quantile, or a vector of them.",
        )
    if q.dims.rank is None:
        return OPEN
    result = joined(q.dims, reduced)
    naming.check_distinct(result.names)
    return result


def _reduce_all(dims: Dims, keepdim: bool | Unknown) -> Dims:
    if keepdim is False:
        return SCALAR
    if keepdim is True:
        return Dims(
            tuple(map(kept_at_one, dims.prefix)), tuple(map(kept_at_one, dims.suffix)), dims.open
        )
    return OPEN


def kept_at_one(dim: Dim) -> Dim:
    """A dim reduced to the deliberate size 1; a label is kept, an axis is dropped."""
    if isinstance(dim.name, Axis):
        return Dim(None, 1, purposeful=True)
    return replace(dim, size=1, purposeful=True)


def positions(dims: Dims, dim_arguments: DimArgument | DimArguments) -> list[Position]:
    """The positions of the dims in an argument; a repeated dim is a contradiction."""
    arguments = dim_arguments if isinstance(dim_arguments, (tuple, list)) else [dim_arguments]
    places = [locate(dims, dim) for dim in arguments]
    for index, place in enumerate(places):
        if isinstance(place, int) and place in places[:index]:
            dim = arguments[index]
            raise Contradiction(
                "NC104",
                f"dim {place} appears multiple times in the list of dims",
                names=[dim] if isinstance(dim, str) else (),
                help="Name each dimension once.",
            )
    return places


def reduce(dims: Dims, places: Sequence[Position], keepdim: bool | Unknown) -> Dims:
    """The dims without those at `places`, or with size 1 there."""
    if isinstance(keepdim, Unknown):
        return OPEN
    if not dims.known and not dims.open:
        return dims
    if keepdim:
        for place in places:
            dims = dims.changed(place, kept_at_one)
        return dims
    fixed = sorted(
        (p for p in places if isinstance(p, int)), key=lambda p: (p < 0, -p if p >= 0 else p)
    )
    for place in fixed:
        dims = dims.without(place)
    for place in places:
        if not isinstance(place, int):
            dims = dims.without(place)
    return dims
