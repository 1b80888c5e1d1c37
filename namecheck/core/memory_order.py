"""The order of a dense tensor's dimensions in memory, and its consequences.

A memory order lists the dims from the outermost to the innermost: ``(0, 2, 3, 1)`` is what torch
calls `channels_last`; that of a tensor whose dims are in order is CONTIGUOUS, the empty tuple, at
any rank. The place of a dim of size 1 in it has no meaning. A slice of a dense tensor, or an
expanded one, is `Gapped`: an order, and the strides. Order and sizes determine the strides, the
answer to ``is_contiguous``, and whether torch can make a view (tensor_attributes.rst, torch.layout
and torch.memory_format). A symbol counts as a size that is neither 1 nor a product of other sizes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.core.names import UNKNOWN, Answer, Unknown
from namecheck.core.sizes import Known, same

Size: TypeAlias = Known | Unknown


@dataclass(frozen=True, slots=True)
class Gapped:
    """A tensor with gaps or overlaps: the stride of each dim, and the order of the dims.

    The stride of a dim of size 1 is unknown, as it may be any. `order` is unknown where the strides
    of different dims overlap.
    """

    steps: tuple[Size, ...]
    order: tuple[int, ...] | Unknown = UNKNOWN


Memory: TypeAlias = tuple[int, ...] | Gapped | Unknown

CONTIGUOUS: Final[tuple[int, ...]] = ()
CHANNELS_LAST: Final = (0, 2, 3, 1)
CHANNELS_LAST_3D: Final = (0, 2, 3, 4, 1)

FORMATS: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "contiguous_format": CONTIGUOUS,
        "channels_last": CHANNELS_LAST,
        "channels_last_3d": CHANNELS_LAST_3D,
    }
)
"""The order of each memory format of torch; one with an order requires a tensor of that rank."""


def ordered(places: Sequence[int]) -> tuple[int, ...]:
    """The memory order with these dims from the outermost to the innermost."""
    return CONTIGUOUS if all(map(int.__eq__, places, range(len(places)))) else tuple(places)


def places_of(permutation: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Every dim, from the outermost to the innermost."""
    return permutation or tuple(range(rank))


def order_in(memory: tuple[int, ...] | Gapped) -> tuple[int, ...] | Unknown:
    """The order of the dims in memory, with or without gaps between them."""
    return memory.order if isinstance(memory, Gapped) else memory


def moved(
    memory: Memory,
    sources: Sequence[int | None],
    sizes: Sequence[Size],
    new: Sequence[Size],
    cut: Mapping[int, Size] = MappingProxyType({}),
) -> Memory:
    """The order of a result whose dims are, one by one, these dims of the input; None is a new dim.

    `sizes` are those of the input, `new` those of the result. Dims of the input without a place in
    the result are removed; of a `cut` dim some elements are kept, with this step.
    """
    if isinstance(memory, Unknown):
        return UNKNOWN
    order = _reordered(order_in(memory), sources, len(sizes))
    if not isinstance(memory, Gapped) and _stays_dense(memory, sources, sizes, cut):
        return order
    own = strides(memory, sizes)
    steps = [
        UNKNOWN if place is None else times(own[place], cut.get(place, 1)) for place in sources
    ]
    return laid(steps, new, order)


def _stays_dense(
    permutation: tuple[int, ...],
    sources: Sequence[int | None],
    sizes: Sequence[Size],
    cut: Mapping[int, Size],
) -> bool:
    """Whether only outermost dims, or dims of size 1, are removed or cut, and no step exceeds 1."""
    inside = False
    for place in places_of(permutation, len(sizes)):
        partly = place in cut or place not in sources
        if sizes[place] != 1 and (cut.get(place, 1) != 1 or (inside and partly)):
            return False
        inside = inside or (place in sources and sizes[place] != 1)
    return True


def _reordered(
    order: tuple[int, ...] | Unknown, sources: Sequence[int | None], rank: int
) -> tuple[int, ...] | Unknown:
    if isinstance(order, Unknown):
        return UNKNOWN
    targets = {source: target for target, source in enumerate(sources) if source is not None}
    places = [targets[place] for place in places_of(order, rank) if place in targets]
    for target in reversed(range(len(sources))):
        if sources[target] is None:
            last = target + 1 == len(sources)
            places.insert(len(places) if last else places.index(target + 1), target)
    return ordered(places)


def laid(
    steps: Sequence[Size], sizes: Sequence[Size], order: tuple[int, ...] | Unknown = UNKNOWN
) -> Memory:
    """The order of a tensor with these strides if it is certainly dense; else `Gapped`.

    `order` is the order of its dims, where that is known.
    """
    if 0 in sizes:
        return UNKNOWN
    significant = tuple(
        UNKNOWN if size == 1 else step for step, size in zip(steps, sizes, strict=True)
    )
    remaining = _without(range(len(sizes)), sizes, {1})
    dense: list[int] = []
    step: Size = 1
    while remaining:
        inner = next((place for place in remaining if _equal(significant[place], step)), None)
        if inner is None:
            return Gapped(significant, order)
        dense.insert(0, inner)
        remaining.remove(inner)
        step = times(step, sizes[inner])
    if not isinstance(order, Unknown):
        return order
    # Only its own stride determines the place of a dim of size 1 in the order.
    return Gapped(significant) if 1 in sizes else ordered(dense)


def stretched(memory: Memory, sizes: Sequence[Size], new: Sequence[Size]) -> Memory:
    """The order of a tensor whose dims of size 1 are expanded, with new dims on the left."""
    if isinstance(memory, Unknown):
        return UNKNOWN
    fresh = len(new) - len(sizes)
    sources = [None if place < fresh else place - fresh for place in range(len(new))]
    before = [1 if source is None else sizes[source] for source in sources]
    if not any(old in (1, UNKNOWN) and size != 1 for old, size in zip(before, new, strict=True)):
        return moved(memory, sources, sizes, new)
    own = [UNKNOWN] * fresh + [*strides(memory, sizes)]
    steps = list(map(_stretched_step, own, before, new))
    return laid(steps, new, _reordered(order_in(memory), sources, len(sizes)))


def _stretched_step(own_step: Size, old_size: Size, new_size: Size) -> Size:
    if isinstance(old_size, Unknown) or new_size == 1:
        return UNKNOWN
    if old_size != 1:
        return own_step
    return UNKNOWN if isinstance(new_size, Unknown) else 0


def computed(memory: Memory, sizes: Sequence[Size]) -> Memory:
    """The order of a new tensor, computed element by element from one with this order.

    The new tensor has no gaps; an expanded dim does not count in the order of the others.
    """
    if not isinstance(memory, Gapped):
        return memory
    plain = all(
        size == 1 or not (isinstance(step, Unknown) or step == 0)
        for step, size in zip(memory.steps, sizes, strict=True)
    )
    return memory.order if plain or memory.order == CONTIGUOUS else UNKNOWN


def strides(memory: tuple[int, ...] | Gapped, sizes: Sequence[Size]) -> tuple[Size, ...]:
    """The stride of each dim; unknown for a dim of size 1, which may have any."""
    if isinstance(memory, Gapped):
        return memory.steps
    steps: list[Size] = [UNKNOWN] * len(sizes)
    step: Size = 1
    for place in reversed(places_of(memory, len(sizes))):
        size = sizes[place]
        steps[place] = UNKNOWN if size == 1 else step
        step = times(step, size)
    return tuple(UNKNOWN for _ in sizes) if 0 in sizes else tuple(steps)


def is_laid_out(memory: Memory, sizes: Sequence[Size], wanted_order: tuple[int, ...]) -> Answer:
    """Whether a tensor is dense in the wanted order (torch.Tensor.is_contiguous)."""
    if isinstance(memory, Unknown):
        return Answer.MAYBE
    doubtful = 0 in sizes or any(isinstance(size, Unknown) for size in sizes)
    if isinstance(memory, Gapped):
        pairs = zip(memory.steps, strides(wanted_order, sizes), strict=True)
        other = any(_equality(step, right) is False for step, right in pairs)
        return Answer.NO if other and not doubtful else Answer.MAYBE
    rank = len(sizes)
    own, other_places = places_of(memory, rank), places_of(wanted_order, rank)
    if _without(own, sizes, {1}) == _without(other_places, sizes, {1}):
        return Answer.YES
    return Answer.MAYBE if doubtful else Answer.NO


def _without(places: Sequence[int], sizes: Sequence[Size], left_out: Collection[int]) -> list[int]:
    return [place for place in places if sizes[place] not in left_out]


def overlaps(gapped: Gapped, sizes: Sequence[Size]) -> bool:
    """Whether certainly several elements share memory, because a dim is expanded."""
    return any(
        step == 0 and not isinstance(size, Unknown) and size != 1
        for step, size in zip(gapped.steps, sizes, strict=True)
    )


def order_of(steps: Sequence[int], shape: Sequence[int]) -> Memory:
    """The order of a tensor with these strides and sizes, all of them known."""
    order = sorted(range(len(shape)), key=lambda place: (-steps[place], shape[place] == 1))
    return laid(steps, shape, ordered(order))


def covers(general_memory: Memory, specific_memory: Memory, sizes: Sequence[Size]) -> bool:
    """Whether every tensor with these sizes and the specific order has the general one, too."""
    if isinstance(general_memory, Unknown) or general_memory == specific_memory or 0 in sizes:
        return True  # no elements have any order
    if not isinstance(general_memory, Gapped) or isinstance(specific_memory, Unknown):
        return False
    order = order_in(specific_memory)
    places = sizes if isinstance(order, Unknown) else order or sizes
    if not len(general_memory.steps) == len(places) == len(sizes):
        return False  # not all dims are known
    pairs = zip(general_memory.steps, strides(specific_memory, sizes), sizes, strict=True)
    is_ordered = general_memory.order in (UNKNOWN, order)
    return is_ordered and all(known in (UNKNOWN, step) or size == 1 for known, step, size in pairs)


def agrees(known_memory: Memory, actual_memory: Memory, sizes: Sequence[Size]) -> bool:
    """Whether a tensor with these sizes and the actual order may have the known order."""
    if isinstance(known_memory, Unknown) or isinstance(actual_memory, Unknown):
        return True
    pairs = zip(strides(known_memory, sizes), strides(actual_memory, sizes), strict=False)
    return all(_equality(one, other) is not False for one, other in pairs)


def can_be_viewed(memory: Memory, sizes: Sequence[Size], new: Sequence[Size]) -> Answer:
    """Whether torch can make a view with these sizes without a copy (Tensor.view, its rules).

    The view is assumed to have as many elements as its tensor. The answer is no only where all
    sizes are known and have the same product.
    """
    if isinstance(memory, Unknown):
        return Answer.MAYBE
    if memory == CONTIGUOUS or 0 in sizes:
        return Answer.YES
    seams, whole, shares = _seams(memory, sizes), _shares(sizes), _shares(new)
    crossed = [place for place in seams if not any(_equal(whole[place], share) for share in shares)]
    if not crossed:
        return Answer.YES
    all_known = not any(isinstance(size, Unknown) for size in (*sizes, *new, *whole, *shares))
    certain = all_known and _equal(whole[0], shares[0]) and any(seams[place] for place in crossed)
    return Answer.NO if certain else Answer.MAYBE


def viewed(memory: Memory, sizes: Sequence[Size], new: Sequence[Size]) -> Memory:
    """The order of a view with these sizes; UNKNOWN where a view may be impossible."""
    if memory == CONTIGUOUS:
        return CONTIGUOUS
    if isinstance(memory, Unknown) or 0 in sizes:
        return UNKNOWN
    if can_be_viewed(memory, sizes, new) is not Answer.YES:
        return UNKNOWN
    blocks = _blocks(list(_seams(memory, sizes)), sizes, new)
    order = order_in(memory)
    if not isinstance(order, Unknown):
        starts = [place for place in places_of(order, len(sizes)) if place in blocks]
        order = ordered([target for place in starts for target in blocks[place]])
    if not isinstance(memory, Gapped):
        return order
    steps: list[Size] = [UNKNOWN] * len(new)
    ends = [*sorted(blocks)[1:], len(sizes)]
    for targets, end in zip(blocks.values(), ends, strict=True):
        step = memory.steps[max(_without(range(end), sizes, {1}), default=0)]
        for target in reversed(targets):
            steps[target] = step
            step = times(step, new[target])
    return laid(steps, new, order)


def _blocks(
    seams: Sequence[int], sizes: Sequence[Size], new: Sequence[Size]
) -> Mapping[int, range]:
    """Each block of dims that are contiguous in memory, by its first dim, and its new dims."""
    shares, whole = _shares(new), _shares(sizes)
    firsts = [
        max(place for place, share in enumerate(shares) if _equal(whole[seam], share))
        for seam in seams
    ]
    starts = [min(_without(range(len(sizes)), sizes, {1}), default=0), *seams]
    ranges = (range(*pair) for pair in pairwise([0, *firsts, len(new)]))
    return dict(zip(starts, ranges, strict=True))


def _seams(memory: tuple[int, ...] | Gapped, sizes: Sequence[Size]) -> Mapping[int, bool]:
    """The dims that do not continue their left neighbour in memory, and whether this is certain."""
    logical = _without(range(len(sizes)), sizes, {1})
    if isinstance(memory, Gapped):
        steps = memory.steps
        one = {
            right: _equality(steps[left], times(steps[right], sizes[right]))
            for left, right in pairwise(logical)
        }
        return {right: joined is False for right, joined in one.items() if joined is not True}
    after = dict(pairwise(_without(places_of(memory, len(sizes)), sizes, {1})))
    return {right: True for left, right in pairwise(logical) if after.get(left) != right}


def _shares(sizes: Sequence[Size]) -> list[Size]:
    """The number of elements that each dim and all dims right of it span; 1 at the end."""
    shares: list[Size] = [1]
    for size in reversed(sizes):
        shares.append(times(shares[-1], size))
    return shares[::-1]


def plus(size: Size, other_size: Size) -> Size:
    """The sum of two sizes."""
    return (
        UNKNOWN
        if isinstance(size, Unknown) or isinstance(other_size, Unknown)
        else size + other_size
    )


def times(size: Size, other_size: Size) -> Size:
    """The product of two sizes; -1 stands for a size that torch computes."""
    if 0 in (size, other_size):
        return 0
    if isinstance(size, Unknown) or isinstance(other_size, Unknown) or other_size == -1:
        return UNKNOWN
    return size * other_size


def _equal(size: Size, other_size: Size) -> bool:
    return _equality(size, other_size) is True


def _equality(size: Size, other_size: Size) -> bool | None:
    if isinstance(size, Unknown) or isinstance(other_size, Unknown):
        return None
    return same(size, other_size)
