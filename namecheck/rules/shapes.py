"""Operators that take dimensions of size 1 away, put new ones in, or stretch them."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.names import UNKNOWN, Contradiction, Unknown
from namecheck.rules.dim_map import Made, everywhere, rearrange
from namecheck.rules.pointwise import broadcast
from namecheck.rules.reductions import Axes, Axis, positions
from namecheck.rules.registry import rule
from namecheck.values import (
    OPEN,
    Dim,
    Dims,
    Many,
    Position,
    Size,
    Tensor,
    locate,
    locate_index,
)

Sizes = Sequence[Size] | Unknown


@rule
def squeeze(input: Tensor, dim: Axis | Axes | None = None) -> Dims:
    """The input's dims without those of size 1: all of them, or those asked for (torch.squeeze)."""
    if isinstance(dim, Unknown):
        return OPEN
    if input.dims.rank == 0:
        positions(input.dims, () if dim is None else dim)
        return input.dims
    if dim is None:
        places: list[Position] = [place for place, _ in input.dims.walk()]
        return _squeeze_places(input.dims, places, everything=True)
    return _squeeze_places(input.dims, positions(input.dims, dim), everything=False)


@rule
def squeeze_natively(input: Tensor, dim: Axis | Axes | None = None) -> Dims:
    """torch 2.12 drops all names where the dim asked for is not of size 1 (recorded: squeeze)."""
    if dim is None or isinstance(dim, (tuple, list)):
        return squeeze(input, dim)
    place = locate(input.dims, dim)
    size = input.dims[place].size
    if size == 1 or input.dims.rank == 0:
        return input.dims.without(place)
    return OPEN if size is UNKNOWN else input.dims.unnamed()


def _squeeze_places(dims: Dims, places: Sequence[Position], *, everything: bool) -> Dims:
    """Without the dims of size 1 among `places`; a dim of unknown size may be gone or not."""
    known = [place for place in places if isinstance(place, int)]
    gone = {place for place in known if dims[place].size == 1}
    doubtful = {place for place in known if dims[place].size is UNKNOWN}
    if len(known) < len(places) or (everything and dims.open):
        doubtful |= {place for place, dim in dims.walk() if dim.size is UNKNOWN or not everything}
        if not everything:
            return OPEN
    if not doubtful and not (everything and dims.open):
        left = [dim for place, dim in enumerate(dims.prefix) if place not in gone]
        right = [dim for place, dim in dims.walk() if place < 0 and place not in gone]
        return Dims(tuple(left), tuple(right), dims.open)
    prefix = _until_doubt(list(enumerate(dims.prefix)), doubtful, gone)
    back = dims.suffix if dims.open else dims.prefix
    numbered = [(index - len(back) if dims.open else index, dim) for index, dim in enumerate(back)]
    suffix = _until_doubt(numbered[::-1], doubtful, gone)
    return Dims(tuple(prefix), tuple(suffix[::-1]), True)


def _until_doubt(dims: Sequence[tuple[int, Dim]], doubtful: set[int], gone: set[int]) -> list[Dim]:
    left: list[Dim] = []
    for place, dim in dims:
        if place in doubtful:
            break
        if place not in gone:
            left.append(dim)
    return left


@rule
def unsqueeze(input: Tensor, dim: Axis | None) -> Dims:
    """The input's dims with an unnamed one of size 1 put in at `dim` (torch.unsqueeze)."""
    if isinstance(dim, Unknown):
        return OPEN
    return inserted(input.dims, dim if isinstance(dim, int) else locate(input.dims, dim), Made())


def inserted(dims: Dims, index: Position, new: Made) -> Dims:
    """The dims with another one put in, so that it stands at `index` afterwards."""
    sources = everywhere(dims)
    if not isinstance(index, int):
        return OPEN
    if dims.open:
        if not -len(dims.suffix) - 1 <= index <= len(dims.prefix):
            return OPEN
        place = index if index >= 0 else len(sources) + index + 1
    else:
        found = locate_index(dims, index, extra=1)
        assert isinstance(found, int)
        place = found
    return rearrange(dims, [*sources[:place], new, *sources[place:]])


@rule
def expand(input: Tensor, size: Sizes) -> Dims:
    """The input's dims, stretched; new leading dims have no name (recorded: expand)."""
    return OPEN if isinstance(size, Unknown) else stretched(input.dims, size)


@rule
def expand_as(input: Tensor, other: Tensor) -> Dims:
    """The input's names, with the sizes of another tensor (recorded: expand_as)."""
    if other.dims.open:
        return Dims((), _back(input.dims), True)
    return stretched(input.dims, list(other.dims.sizes))


@rule
def broadcast_tensors(tensors: Sequence[Tensor] | Many | Unknown) -> list[Dims] | Unknown:
    """Every tensor stretched to the common shape, with its own names (recorded)."""
    if isinstance(tensors, (Many, Unknown)) or any(tensor.dims.open for tensor in tensors):
        return UNKNOWN
    lists = [tensor.dims for tensor in tensors]
    _check_common(lists)
    rank = max((dims.min_rank for dims in lists), default=0)
    common = [_common_size([dims.from_right(n) for dims in lists]) for n in range(rank, 0, -1)]
    return [stretched(dims, common) for dims in lists]


def _check_common(lists: Sequence[Dims]) -> None:
    """Sizes that can not be broadcast together, as torch tells them."""
    whole = Dims()
    for dims in lists:
        whole = broadcast(whole, dims.unnamed())


def _common_size(dims: Sequence[Dim | None]) -> Size:
    sizes = {dim.size for dim in dims if dim is not None and dim.size != 1}
    if not sizes:
        return 1
    return sizes.pop() if len(sizes) == 1 else UNKNOWN


def stretched(dims: Dims, sizes: Sequence[Size]) -> Dims:
    """The dims at these sizes, from the right; -1 leaves a size as it is."""
    if dims.min_rank > len(sizes):
        raise Contradiction(
            "NC207",
            f"expand(torch.FloatTensor{{{list(dims.sizes)}}}, size={list(sizes)}): the number of "
            f"sizes provided ({len(sizes)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({dims.min_rank})",
            help="Give a size, or -1, for every dimension.",
        )
    result: list[Dim] = []
    for offset in range(1, len(sizes) + 1):
        old, size = dims.from_right(offset), sizes[-offset]
        if old is None:
            _check_new(size, len(sizes) - offset)
            result.append(Dim(None, size, purposeful=size == 1))
            continue
        _check_stretch(dims, old, sizes, offset)
        result.append(Dim(old.name, old.size if size in (-1, old.size) else size))
    return Dims(tuple(reversed(result)))


def _check_new(size: Size, index: int) -> None:
    if isinstance(size, int) and size < 0:
        raise Contradiction(
            "NC201",
            f"The expanded size of the tensor ({size}) isn't allowed in a leading, non-existing "
            f"dimension {index}",
            help="A new dimension needs a size of its own.",
        )


def _check_stretch(dims: Dims, old: Dim, sizes: Sequence[Size], offset: int) -> None:
    new = sizes[-offset]
    if UNKNOWN in (new, old.size) or new == -1 or old.size in (1, new):
        return
    raise Contradiction(
        "NC201",
        f"The expanded size of the tensor ({new}) must match the existing size ({old.size}) at "
        f"non-singleton dimension {len(sizes) - offset}.  Target sizes: {list(sizes)}.  "
        f"Tensor sizes: {list(dims.sizes)}",
        help="Only a dim of size 1 can be stretched.",
    )


def _back(dims: Dims) -> tuple[Dim, ...]:
    part = dims.suffix if dims.open else dims.prefix
    return tuple(Dim(dim.name, UNKNOWN if dim.size == 1 else dim.size) for dim in part)
