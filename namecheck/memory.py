"""The order in which a dense tensor keeps its dimensions in memory, and what follows from it.

A memory order lists the dims from the outermost to the innermost: ``(0, 2, 3, 1)`` is what torch
calls `channels_last`; that of the dims as they stand is CONTIGUOUS, which is empty and so serves
at any rank. UNKNOWN is whatever is not certainly dense and free of overlaps. Where a dim of size 1
stands in it means nothing. From order and sizes follow the strides, the answer to
``is_contiguous``, and whether torch can lay a view out (tensor_attributes.rst, torch.layout and
torch.memory_format). A symbol is taken for a size like any other, which is not 1 by chance
nor made up of others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, TypeAlias

from namecheck.names import UNKNOWN, Answer, Unknown
from namecheck.sizes import Known, same

Memory: TypeAlias = tuple[int, ...] | Unknown
Size: TypeAlias = Known | Unknown

CONTIGUOUS: Final[tuple[int, ...]] = ()
CHANNELS_LAST: Final = (0, 2, 3, 1)
CHANNELS_LAST_3D: Final = (0, 2, 3, 4, 1)

SCATTERED: Final = (-1,)
"""What is told of a tensor that has been seen, and lies in no order: with gaps, or overlaps."""

FORMATS: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "contiguous_format": CONTIGUOUS,
        "channels_last": CHANNELS_LAST,
        "channels_last_3d": CHANNELS_LAST_3D,
    }
)
"""The order that each memory format of torch stands for; one of dims asks for just so many."""


def ordered(places: Sequence[int]) -> tuple[int, ...]:
    """The memory order of places that are given from the outermost to the innermost."""
    return CONTIGUOUS if all(map(int.__eq__, places, range(len(places)))) else tuple(places)


def places_of(memory: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Every dim, from the outermost to the innermost."""
    return memory or tuple(range(rank))


def moved(
    memory: Memory,
    sources: Sequence[int | None],
    sizes: Sequence[Size],
    cut: Collection[int] = (),
) -> Memory:
    """The order of a tensor whose dims are, one by one, these of the input; None is a new one.

    `sizes` are those of the input; a dim that is no source is left out. What is left out or `cut`
    must be outermost, or of size 1, for the rest to be dense.
    """
    if isinstance(memory, Unknown):
        return UNKNOWN
    inside = False
    for place in places_of(memory, len(sizes)):
        partly = place in cut or place not in sources
        if inside and partly and sizes[place] != 1:
            return UNKNOWN
        inside = inside or (place in sources and sizes[place] != 1)
    targets = {source: target for target, source in enumerate(sources) if source is not None}
    order = [targets[place] for place in places_of(memory, len(sizes)) if place in targets]
    for target in reversed(range(len(sources))):
        if sources[target] is None:
            order.insert(
                order.index(target + 1) if target + 1 < len(sources) else len(order), target
            )
    return ordered(order)


def strides(memory: tuple[int, ...], sizes: Sequence[Size]) -> tuple[Size, ...]:
    """The stride of each dim; unknown that of a dim of size 1, which may be any."""
    found: list[Size] = [UNKNOWN] * len(sizes)
    step: Size = 1
    for place in reversed(places_of(memory, len(sizes))):
        size = sizes[place]
        found[place] = UNKNOWN if size == 1 else step
        step = UNKNOWN if isinstance(step, Unknown) or isinstance(size, Unknown) else step * size
        step = 0 if step == 0 else step
    return tuple(UNKNOWN for _ in sizes) if 0 in sizes else tuple(found)


def is_laid_out(memory: Memory, sizes: Sequence[Size], wanted: tuple[int, ...]) -> Answer:
    """Whether a tensor is dense in the wanted order (torch.Tensor.is_contiguous)."""
    if isinstance(memory, Unknown):
        return Answer.MAYBE
    rank = len(sizes)
    own, other = places_of(memory, rank), places_of(wanted, rank)
    if _without(own, sizes, {1}) == _without(other, sizes, {1}):
        return Answer.YES
    doubtful = 0 in sizes or any(isinstance(size, Unknown) for size in sizes)
    return Answer.MAYBE if doubtful else Answer.NO


def _without(places: Sequence[int], sizes: Sequence[Size], left_out: Collection[int]) -> list[int]:
    return [place for place in places if sizes[place] not in left_out]


def order_of(steps: Sequence[int], sizes: Sequence[int]) -> Memory:
    """The order of a tensor with these strides and sizes, SCATTERED if it is not dense."""
    if 0 in sizes:
        return UNKNOWN
    order = sorted(range(len(sizes)), key=lambda place: (-steps[place], sizes[place] == 1))
    step = 1
    for place in reversed([place for place in order if sizes[place] != 1]):
        if steps[place] != step:
            return SCATTERED
        step *= sizes[place]
    return ordered(order)


def can_be_viewed(memory: Memory, sizes: Sequence[Size], new: Sequence[Size]) -> Answer:
    """Whether a view of these new sizes can be had without a copy (Tensor.view, its rules).

    That a view has as many elements as its tensor is taken for granted. No is said only where all
    sizes are known and make up the same whole.
    """
    if isinstance(memory, Unknown):
        return Answer.MAYBE
    if memory == CONTIGUOUS or 0 in sizes:
        return Answer.YES
    seams = [_shares(sizes)[place] for place in _seams(memory, sizes)]
    shares = _shares(new)
    if all(any(_equal(seam, share) for share in shares) for seam in seams):
        return Answer.YES
    known = not any(isinstance(size, Unknown) for size in (*sizes, *new, *seams, *shares))
    return Answer.NO if known and _equal(_shares(sizes)[0], shares[0]) else Answer.MAYBE


def viewed(memory: Memory, sizes: Sequence[Size], new: Sequence[Size]) -> Memory:
    """The order of a view of these new sizes; UNKNOWN where it is not certain that there is one."""
    if memory == CONTIGUOUS:
        return CONTIGUOUS
    if isinstance(memory, Unknown) or 0 in sizes:
        return UNKNOWN
    if can_be_viewed(memory, sizes, new) is not Answer.YES:
        return UNKNOWN
    shares, whole = _shares(new), _shares(sizes)
    seams = _seams(memory, sizes)
    # Each block of dims that are one in memory becomes some of the new dims, in their order.
    firsts = [
        max(place for place, share in enumerate(shares) if _equal(whole[seam], share))
        for seam in seams
    ]
    starts = [min(_without(range(len(sizes)), sizes, {1}), default=0), *seams]
    blocks = dict(zip(starts, pairwise([0, *firsts, len(new)]), strict=True))
    order = [place for place in places_of(memory, len(sizes)) if place in blocks]
    return ordered([target for place in order for target in range(*blocks[place])])


def _seams(memory: tuple[int, ...], sizes: Sequence[Size]) -> list[int]:
    """The dims that are not one in memory with the one left of them."""
    physical = _without(memory, sizes, {1})
    after = dict(pairwise(physical))
    return [right for left, right in pairwise(sorted(physical)) if after.get(left) != right]


def _shares(sizes: Sequence[Size]) -> list[Size]:
    """How many elements each dim makes up with all right of it; 1 stands right of the last."""
    shares: list[Size] = [1]
    for size in reversed(sizes):
        shares.append(_times(shares[-1], size))
    return shares[::-1]


def _times(left: Size, right: Size) -> Size:
    if isinstance(left, Unknown) or isinstance(right, Unknown) or right == -1:
        return UNKNOWN
    return left * right


def _equal(left: Size, right: Size) -> bool:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return False
    return same(left, right) is True
