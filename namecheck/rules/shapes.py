"""Operators that remove dims of size 1, insert new ones, or expand them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import (
    ANY_DIM,
    OPEN,
    Dim,
    Dims,
    Position,
    Size,
    agree,
    clash,
    locate,
    locate_index,
    new_dim,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown, is_foreign
from namecheck.core.tensors import Many, Tensor
from namecheck.rules.arguments import DimArgument, DimArguments, Sizes, Tensors
from namecheck.rules.broadcasting import broadcast
from namecheck.rules.dim_map import Made, everywhere, reaching, rearrange, show_sizes
from namecheck.rules.reductions import positions
from namecheck.rules.registry import rule


@rule(memory="moves")
def squeeze(input: Tensor, dim: DimArgument | DimArguments = None) -> Dims:
    """The input's dims without those of size 1: all, or those in `dim` (torch.squeeze)."""
    if isinstance(dim, Unknown):
        return OPEN
    if input.dims.rank == 0:
        positions(input.dims, () if dim is None else dim)
        return input.dims
    if dim is None:
        places: Sequence[Position] = [place for place, _ in input.dims.walk()]
        return _squeeze_places(input.dims, places, everything=True)
    return _squeeze_places(input.dims, positions(input.dims, dim), everything=False)


@rule
def squeeze_natively(input: Tensor, dim: DimArgument | DimArguments = None) -> Dims:
    """As `squeeze`; torch 2.12 drops all names where `dim` is larger than 1 (recorded)."""
    if dim is None or isinstance(dim, (tuple, list)):
        return squeeze(input, dim)
    place = locate(input.dims, dim)
    size = input.dims[place].size
    if size == 1 or input.dims.rank == 0:
        return input.dims.without(place)
    return OPEN if size is UNKNOWN else input.dims.unnamed()


def _squeeze_places(dims: Dims, places: Sequence[Position], *, everything: bool) -> Dims:
    """The dims without those of size 1 among `places`; one of unknown size may be removed."""
    known_places = [place for place in places if isinstance(place, int)]
    removed = {place for place in known_places if dims[place].size == 1}
    doubtful = {place for place in known_places if _may_be_single(dims[place])}
    if len(known_places) < len(places) or (everything and dims.open):
        doubtful |= {place for place, dim in dims.walk() if _may_be_single(dim) or not everything}
        if not everything:
            return OPEN
    if not doubtful and not (everything and dims.open):
        remaining = [dim for place, dim in enumerate(dims.prefix) if place not in removed]
        right = [dim for place, dim in dims.walk() if place < 0 and place not in removed]
        return Dims(tuple(remaining), tuple(right), dims.open)
    prefix = _until_doubt(list(enumerate(dims.prefix)), doubtful, removed)
    back = dims.suffix if dims.open else dims.prefix
    numbered = [(index - len(back) if dims.open else index, dim) for index, dim in enumerate(back)]
    suffix = _until_doubt(numbered[::-1], doubtful, removed)
    return Dims(tuple(prefix), tuple(suffix[::-1]), True)


def _may_be_single(dim: Dim) -> bool:
    """Whether a dim may have size 1; an axis of the code being read is assumed not to have it.

    The size of an axis that a function declares may be 1 where the call does not fix it.
    """
    return dim.size is UNKNOWN or (dim.size != 1 and is_foreign(dim.name))


def _until_doubt(
    placed: Sequence[tuple[int, Dim]], doubtful: set[int], removed: set[int]
) -> list[Dim]:
    certain: list[Dim] = []
    for place, dim in placed:
        if place in doubtful:
            break
        if place not in removed:
            certain.append(dim)
    return certain


@rule(memory="moves")
def unsqueeze(input: Tensor, dim: DimArgument) -> Dims:
    """The input's dims with an unnamed one of size 1 inserted at `dim` (torch.unsqueeze)."""
    if isinstance(dim, Unknown):
        return OPEN
    return inserted(input.dims, dim, Made())


def inserted(dims: Dims, dim: DimArgument, dim_source: Made) -> Dims:
    """The dims with another one inserted at an index, or before the dim of a name."""
    position = dim if isinstance(dim, int) else locate(dims, dim)
    dims = reaching(dims, dim, extra=1)
    if isinstance(dim, str) and isinstance(position, int) and position < 0:
        position -= 1  # it is counted from the right
    dim_sources = everywhere(dims)
    if not isinstance(position, int):
        return OPEN
    if dims.open:
        if not -len(dims.suffix) - 1 <= position <= len(dims.prefix):
            return OPEN
        place = position if position >= 0 else len(dim_sources) + position + 1
    else:
        located = locate_index(dims, position, extra=1)
        assert isinstance(located, int)
        place = located
    return rearrange(dims, [*dim_sources[:place], dim_source, *dim_sources[place:]])


@rule(memory="stretches")
def expand(input: Tensor, size: Sizes) -> Dims:
    """The input's dims, expanded; new leading dims are unnamed (recorded: expand)."""
    return OPEN if isinstance(size, Unknown) else stretched(input.dims, size)


@rule(memory="stretches")
def expand_as(input: Tensor, other: Tensor) -> Dims:
    """The input's names, with the sizes of another tensor (recorded: expand_as)."""
    if other.dims.open:
        return Dims((), _back(input.dims), True)
    return _stretched(input.dims, tuple(map(_target, other.dims.prefix)))


def _target(dim: Dim) -> Dim:
    """A dim as the target of expanding: its axis counts, a label does not."""
    return new_dim(dim.size) if isinstance(dim.name, str) else dim


@rule(memory="stretches")
def broadcast_tensors(tensors: Tensors) -> list[Dims] | Unknown:
    """Every tensor expanded to the common shape, with its own names (recorded)."""
    if isinstance(tensors, (Many, Unknown)) or any(tensor.dims.open for tensor in tensors):
        return UNKNOWN
    lists = [tensor.dims for tensor in tensors]
    targets = [Dims(tuple(map(_target, dims.prefix))) for dims in lists]
    common = reduce(broadcast, targets, Dims())
    return [_stretched(dims, common.prefix) for dims in lists]


def stretched(dims: Dims, sizes: Sequence[Size]) -> Dims:
    """The dims expanded to these sizes, from the right; -1 keeps a size."""
    return _stretched(dims, tuple(map(new_dim, sizes)))


def _stretched(dims: Dims, targets: tuple[Dim, ...]) -> Dims:
    if dims.min_rank > len(targets):
        raise Contradiction(
            "NC207",
            f"expand(torch.FloatTensor{{{show_sizes(dims)}}}, size={show_sizes(Dims(targets))}): "
            f"the number of sizes provided ({len(targets)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({dims.min_rank})",
            help="Give a size, or -1, for every dimension.",
        )
    stretched: list[Dim] = []
    for offset in range(1, len(targets) + 1):
        dim, target = dims.from_right(offset), targets[-offset]
        if dim is None:
            _check_new(target.size, len(targets) - offset)
            stretched.append(replace(target, purposeful=target.size == 1))
            continue
        _check_stretch(dims, dim, targets, offset)
        stretched.append(_at_size_of(target, dim))
    return Dims(tuple(reversed(stretched)))


def _at_size_of(goal: Dim, dim: Dim) -> Dim:
    """A dim expanded to the size of another, unless it has that size already.

    A size of 1 that was made on purpose was made to be expanded.
    """
    name = _stretched_name(dim, goal)
    if goal.size in (-1, dim.size) or dim.size not in (1, UNKNOWN):
        return replace(dim, name=name)
    return Dim(name, goal.size, dim.purposeful)


def _stretched_name(dim: Dim, goal: Dim) -> Name:
    """A label is kept; an unnamed dim, or an axis of size 1, takes the axis of the target."""
    if goal.size == -1 or isinstance(dim.name, (str, Unknown)):
        return dim.name
    if dim.name is None:
        return goal.name
    if dim.size not in (1, UNKNOWN) or naming.match(dim.name, goal.name) is Answer.YES:
        return dim.name
    return goal.name if dim.size == 1 and goal.size is not UNKNOWN else UNKNOWN


def _check_new(size: Size, index: int) -> None:
    if isinstance(size, int) and size < 0:
        raise Contradiction(
            "NC201",
            f"The expanded size of the tensor ({size}) isn't allowed in a leading, non-existing "
            f"dimension {index}",
            help="A new dimension needs a size of its own.",
        )


def _check_stretch(dims: Dims, dim: Dim, goal_dims: Sequence[Dim], offset: int) -> None:
    goal = goal_dims[-offset]
    if goal.size == -1 or dim.size == 1:
        return
    if agree(dim.size, goal.size) is Answer.NO:
        raise Contradiction(
            "NC201",
            f"The expanded size of the tensor ({goal.size}) must match the existing size "
            f"({dim.size}) at non-singleton dimension {len(goal_dims) - offset}.  Target sizes: "
            f"{show_sizes(Dims(tuple(goal_dims)))}.  Tensor sizes: {show_sizes(dims)}",
            help="Only a dim of size 1 can be stretched.",
        )
    if isinstance(dim.name, Axis) and isinstance(goal.name, Axis) and clash(dim, goal):
        raise Contradiction(
            "NC101",
            f"Dim {naming.show_name(dim.name)} cannot be stretched to the size of "
            f"{naming.show_name(goal.name)}: they are different axes.",
            names=[dim.name.name, goal.name.name],
            help="Only a dim of size 1 can be stretched; bring the dims into one order first.",
        )


def _back(dims: Dims) -> tuple[Dim, ...]:
    """The dims from the right, expanded to unknown targets, which may be axes."""
    part = dims.suffix if dims.open else dims.prefix
    return tuple(_at_size_of(ANY_DIM, dim) for dim in part)
