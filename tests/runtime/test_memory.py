"""Memory orders, compared with torch: strides, views, and moved, dropped or cut dims."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
import torch

from namecheck.core import memory_order
from namecheck.core.dims import Dims
from namecheck.core.memory_order import CONTIGUOUS, FORMATS, Gapped, Memory
from namecheck.core.names import UNKNOWN, Answer
from namecheck.core.sizes import Known, substituted, symbol
from namecheck.core.tensors import Constant, Tensor
from namecheck.operators import infer

SIZES: Final = (1, 1, 2, 2, 3, 4, 6)
# Symbols for sizes of which none is a product of others.
VALUES: Final = {"b": 5, "t": 7, "h": 11, "d": 13}
ROUNDS: Final = 3000


@pytest.fixture
def draw() -> random.Random:
    return random.Random(6)


def tensors(draw: random.Random) -> Iterator[tuple[torch.Tensor, tuple[int, ...]]]:
    """Dense tensors of some memory order."""
    for _ in range(ROUNDS):
        rank = draw.randrange(5)
        order = draw.sample(range(rank), rank)
        sizes = [draw.choice(SIZES) for _ in range(rank)]
        places = [order.index(place) for place in range(rank)]
        dense = torch.zeros([sizes[place] for place in order])
        yield dense.permute(places), memory_order.ordered(order)


def regrouped(draw: random.Random, sizes: Sequence[int]) -> list[int]:
    """Sizes with the same product, most of them products of the others."""
    new: list[int] = []
    left = list(sizes)
    while left:
        size = left.pop(0)
        if left and draw.random() < 0.4:
            left[0] *= size
            continue
        parts = [part for part in range(2, size) if size % part == 0]
        if parts and draw.random() < 0.3:
            part = draw.choice(parts)
            new += [part, size // part]
        else:
            new.append(size)
        if draw.random() < 0.2:
            new.append(1)
    return new


def holds(tensor: torch.Tensor, order: Memory) -> bool:
    """Whether a tensor has a memory order."""
    assert order is not UNKNOWN
    steps = memory_order.strides(order, tuple(tensor.shape))
    pairs = zip(tensor.stride(), steps, strict=True)
    return all(guess in (UNKNOWN, real) for real, guess in pairs)


def test_strides_follow_from_the_order(draw: random.Random) -> None:
    for tensor, order in tensors(draw):
        assert holds(tensor, order)
        known = [
            size == 1 or each is not UNKNOWN
            for size, each in zip(
                tensor.shape, memory_order.strides(order, tuple(tensor.shape)), strict=True
            )
        ]
        assert all(known)


def test_the_formats_of_torch() -> None:
    for word, order in FORMATS.items():
        rank = len(order) or 3
        tensor = torch.zeros(*range(2, 2 + rank)).contiguous(memory_format=getattr(torch, word))
        assert holds(tensor, order)


def test_is_contiguous(draw: random.Random) -> None:
    for tensor, order in tensors(draw):
        for word, wanted in FORMATS.items():
            if len(wanted) not in (0, tensor.dim()):
                continue
            real = tensor.is_contiguous(memory_format=getattr(torch, word))
            guess = memory_order.is_laid_out(order, tuple(tensor.shape), wanted)
            assert guess is (Answer.YES if real else Answer.NO)


def is_viewed(tensor: torch.Tensor, order: memory_order.Memory, new: Sequence[int]) -> bool:
    """Whether torch has a view of these sizes, checking what is inferred about it."""
    sizes = tuple(tensor.shape)
    answer = memory_order.can_be_viewed(order, sizes, new)
    try:
        view = tensor.view(new)
    except RuntimeError:
        assert answer is Answer.NO, (sizes, order, new)
        assert memory_order.viewed(order, sizes, new) is UNKNOWN
        return False
    assert answer is Answer.YES, (sizes, order, new)
    assert holds(view, memory_order.viewed(order, sizes, new)), (sizes, order, new)
    return True


def test_views(draw: random.Random) -> None:
    seen = {True: 0, False: 0}
    for tensor, order in tensors(draw):
        seen[is_viewed(tensor, order, regrouped(draw, tensor.shape))] += order != CONTIGUOUS
    assert min(seen.values()) > ROUNDS / 10


def test_views_of_sizes_that_are_partly_known_are_never_told_wrongly(draw: random.Random) -> None:
    for tensor, order in tensors(draw):
        sizes, new = tuple(tensor.shape), regrouped(draw, tensor.shape)
        some = [UNKNOWN if draw.random() < 0.3 else size for size in sizes]
        some_new = [UNKNOWN if draw.random() < 0.2 else size for size in new]
        guess = memory_order.can_be_viewed(order, some, some_new)
        real = memory_order.can_be_viewed(order, sizes, new)
        assert guess in (Answer.MAYBE, real), (order, some, some_new)
        viewed = memory_order.viewed(order, some, some_new)
        assert viewed is UNKNOWN or holds(tensor.view(new), viewed)


def test_views_of_symbolic_sizes(draw: random.Random) -> None:
    counts = {Answer.YES: 0, Answer.NO: 0}
    for _ in range(ROUNDS):
        rank = draw.randrange(2, 5)
        choice: list[Known] = [*map(symbol, VALUES), symbol("d") * 2, 1, 2, 3]
        sizes = draw.sample(choice, rank)
        order = memory_order.ordered(draw.sample(range(rank), rank))
        new = list(sizes)
        for _ in range(draw.randrange(3)):
            if len(new) > 1:
                place = draw.randrange(len(new) - 1)
                new[place : place + 2] = [new[place] * new[place + 1]]
        concrete = [substituted(size, VALUES) for size in sizes]
        concrete_new = [substituted(size, VALUES) for size in new]
        answer = memory_order.can_be_viewed(order, sizes, new)
        assert answer is memory_order.can_be_viewed(order, concrete, concrete_new)
        counts[answer] += 1
    assert min(counts.values()) > ROUNDS / 10


def test_a_view_that_rests_on_what_the_caller_knows_is_not_refused() -> None:
    b, t, h, d = map(symbol, VALUES)
    heads = memory_order.ordered((0, 2, 1, 3))
    assert memory_order.can_be_viewed(heads, (b, t, h, 16), (b, t, h * 16)) is Answer.NO
    assert memory_order.can_be_viewed(heads, (b, t, h, 16), (b, t, d)) is Answer.MAYBE
    assert memory_order.can_be_viewed(heads, (b, t, h, 16), (b, t, -1)) is Answer.MAYBE


def test_dims_that_are_moved_dropped_and_cut(draw: random.Random) -> None:
    dense = 0
    for tensor, order in tensors(draw):
        sources = draw.sample(range(tensor.dim()), draw.randint(0, tensor.dim()))
        dropped = [place for place in range(tensor.dim()) if place not in sources]
        cut = [place for place in sources if tensor.shape[place] > 2 and draw.random() < 0.2]
        index = [
            0 if place in dropped else slice(2 if place in cut else None)
            for place in range(tensor.dim())
        ]
        result = tensor[tuple(index)]
        kept = sorted(sources)
        result = result.permute([kept.index(place) for place in sources])
        with_new: list[int | None] = list(sources)
        for _ in range(draw.randrange(2)):
            place = draw.randint(0, len(with_new))
            with_new.insert(place, None)
            result = result.unsqueeze(place)
        distance = dict.fromkeys(cut, 1)
        memory = memory_order.moved(
            order, with_new, tuple(tensor.shape), tuple(result.shape), distance
        )
        assert holds(result, memory), (order, tensor.shape, with_new, cut)
        assert isinstance(memory, Gapped) is not is_dense(result)
        dense += is_dense(result)
    assert ROUNDS / 10 < dense < ROUNDS * 9 / 10


def gapped(draw: random.Random) -> Iterator[tuple[torch.Tensor, Memory]]:
    """Tensors with gaps, or expanded, and their known order."""
    for tensor, order in tensors(draw):
        rank = tensor.dim()
        sources = draw.sample(range(rank), rank)
        cut = {place: draw.choice((1, 2, 3)) for place in sources if draw.random() < 0.4}
        index = tuple(
            slice(draw.choice((None, tensor.shape[place] // 2)), None, cut[place])
            if place in cut
            else slice(None)
            for place in range(rank)
        )
        result = tensor[index].permute(sources)
        shape = tuple(result.shape)
        memory = memory_order.moved(order, sources, tuple(tensor.shape), shape, cut)
        if draw.random() < 0.4:
            wider = [draw.choice((1, 3)) for _ in range(draw.randrange(2))]
            wider += [draw.choice((1, 2)) if size == 1 else size for size in shape]
            result = result.expand(wider)
            memory = memory_order.stretched(memory, shape, wider)
        yield result, memory


def test_gaps(draw: random.Random) -> None:
    seen = 0
    for tensor, memory in gapped(draw):
        assert holds(tensor, memory), (tensor.shape, tensor.stride(), memory)
        assert isinstance(memory, Gapped) is not is_dense(tensor)
        answer = memory_order.is_laid_out(memory, tuple(tensor.shape), CONTIGUOUS)
        assert answer is (Answer.YES if tensor.is_contiguous() else Answer.NO)
        seen += isinstance(memory, Gapped)
    assert seen > ROUNDS / 4


def test_views_of_what_has_gaps(draw: random.Random) -> None:
    seen = {True: 0, False: 0}
    for tensor, memory in gapped(draw):
        new = regrouped(draw, tensor.shape)
        seen[is_viewed(tensor, memory, new)] += isinstance(memory, Gapped)
    assert min(seen.values()) > ROUNDS / 20


def test_what_is_computed_of_gaps_is_dense(draw: random.Random) -> None:
    known = 0
    for tensor, memory in gapped(draw):
        computed = memory_order.computed(memory, tuple(tensor.shape))
        for result in (tensor + 1, tensor.clone(), torch.zeros_like(tensor)):
            assert computed is UNKNOWN or holds(result, computed), (
                tensor.shape,
                tensor.stride(),
                memory,
            )
        known += computed is not UNKNOWN and isinstance(memory, Gapped)
    assert known > ROUNDS / 10


def is_dense(tensor: torch.Tensor) -> bool:
    pairs = [pair for pair in zip(tensor.shape, tensor.stride(), strict=True) if pair[0] != 1]
    span = sum((size - 1) * step for size, step in pairs)
    return span + 1 == math.prod(tensor.shape) and all(step for _, step in pairs)


@pytest.mark.parametrize("memory_format", ["contiguous_format", "channels_last"])
def test_convolutions_follow_the_order_of_their_weights(memory_format: str) -> None:
    known = 0
    settings = itertools.product((1, 2, 3), (2, 4), (1, 3), (1, 2), (False, True), ("", "w"))
    for channels, features, size, groups, last, form in settings:
        if channels % groups:
            continue
        layer = torch.nn.Conv2d(channels, features, size, groups=groups)
        options: dict[str, Any] = {"memory_format": getattr(torch, memory_format)}
        layer.to(**options)
        images = torch.zeros(2, channels, 4, 5)
        images = images.to(memory_format=torch.channels_last) if last else images
        given = seen(images)
        if form:
            called = infer("nn.functional.conv2d", given, seen(layer.weight), groups=groups)
        else:
            word = Constant("memory_format", memory_format)
            made = channels, features, size
            called = infer("nn.Conv2d", *made, given, groups=groups, weight_format=word)
        order = called.result.memory
        known += order is not UNKNOWN
        assert order is UNKNOWN or holds(layer(images), order), (channels, features, size, groups)
    assert known > 20


def seen(tensor: torch.Tensor) -> Tensor:
    """All facts about a tensor."""
    dims = Dims.of(*(None,) * tensor.dim(), sizes=tensor.shape)
    order = memory_order.order_of(tensor.stride(), tensor.shape)
    return Tensor(dims, "float32", memory=order)
