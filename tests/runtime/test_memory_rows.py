"""Every row with a memory order, compared with torch, over operands of several orders.

The strides of each result must be those of the inferred order. The expected results come from torch
alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

import pytest
import torch

from namecheck.core import memory_order
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Many, Tensor
from namecheck.operators import Inference, Operator, table
from tests.runtime.dtype_samples import Sample, dims_of, everyday, inferred, samples

# For each rank, one call of a row is searched.
SHAPES: Final = (
    ((2, 3, 4, 5), (2, 4, 3, 5), (2, 4, 4, 4), (1, 4, 2, 2), (2, 2, 2, 2)),
    ((2, 3, 4), (3, 4, 4), (2, 2, 2)),
    ((3, 4), (4, 4), (2, 2)),
    ((4,), (2,)),
    ((2, 3, 4, 5, 2), (2, 4, 2, 2, 2), (1, 2, 2, 2, 2)),
)
# Calls that do not return, or depend on the machine.
LEFT_OUT: Final = frozenset({"cuda", "pin_memory", "share_memory_", "apply_", "map_"})


# Operators that torch 2.13 lacks, that are called without a tensor, or share their name with a
# module.
UNCALLED: Final = frozenset(
    {
        *("names=", "align_as", "align_tensors", "align_to", "refine_names", "rename", "rename_"),
        *("__getitem__", "__iter__", "__deepcopy__", "as_subclass", "dropout_"),
        "nn.functional.selu_",
    }
)


def as_they_stand(rank: int) -> tuple[int, ...]:
    return ()


def reversed_dims(rank: int) -> tuple[int, ...]:
    return memory_order.ordered(range(rank)[::-1])


def swapped(rank: int) -> tuple[int, ...]:
    return (1, 0, *range(2, rank)) if rank > 1 else ()


def channels_last(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1) if rank > 2 else ()


def one_more(size: int) -> int:
    return size + 1


def one(size: int) -> int:
    return 1


ORDERS: Final = (as_they_stand, reversed_dims, swapped, channels_last)


def rows_with_memory() -> list[Operator]:
    rows = [row for row in table().values() if row.effects(0).memory.word]
    return [row for row in rows if row.key not in LEFT_OUT and not set(row.forms) & set("pl")]


def variants(sample: Sample) -> Iterator[Sample]:
    """The sample with all tensors of one order, with gaps, expanded, with two orders mixed."""
    count = len(sample.slots)
    for order in ORDERS:
        yield sample.with_orders(itertools.repeat(order))
    for order in ORDERS[:2]:
        yield sample.with_orders(itertools.repeat(order)).with_source(one_more)
    yield sample.with_orders(itertools.repeat(as_they_stand)).with_source(one)
    for first, other in itertools.permutations(ORDERS[:3] if count > 1 else (), 2):
        yield sample.with_orders(itertools.chain([first], itertools.repeat(other)))


def answer(sample: Sample) -> Inference:
    return inferred(sample, lambda slot: Tensor(dims_of(slot), slot.dtype, memory=slot.memory))


def pairs(guess: Any, real: Any) -> Iterator[tuple[Tensor, torch.Tensor]]:
    """Every tensor of a result with its inferred tensor."""
    if isinstance(real, torch.Tensor) and isinstance(guess, Tensor):
        yield guess, real
    elif isinstance(real, (tuple, list)):
        parts = [guess.each] * len(real) if isinstance(guess, Many) else guess
        if isinstance(parts, (tuple, list)):
            for one, other in zip(parts, real, strict=False):
                yield from pairs(one, other)


def contradicts(guess: Tensor, real: torch.Tensor) -> bool:
    """Whether the strides differ from the inferred order's."""
    if guess.memory is UNKNOWN:
        return False
    if real.layout is not torch.strided:
        return True
    if isinstance(guess.memory, tuple) and guess.memory and len(guess.memory) != real.dim():
        return True
    return not memory_order.agrees(
        guess.memory, memory_order.order_of(real.stride(), real.shape), real.shape
    )


def lying(tensor: torch.Tensor) -> str:
    if tensor.layout is not torch.strided:
        return str(tensor.layout)
    return f"{tuple(tensor.shape)} with strides {tensor.stride()}"


def tried(row: Operator) -> Iterator[tuple[Sample, Any, Inference]]:
    for shapes in SHAPES:
        for sample in samples(row, shapes):
            for variant in variants(sample):
                try:
                    real = variant.run()
                except (RuntimeError, TypeError, ValueError, LookupError) as error:
                    real = error
                yield variant, real, answer(variant)


def faults(row: Operator) -> Iterator[str]:
    known, called, makes = 0, False, False
    for sample, real, guess in tried(row):
        call = f"{sample.operator}{[(slot.shape, slot.memory) for slot in sample.slots]}"
        refused = guess.contradiction is not None and guess.contradiction.code.startswith("NC5")
        if isinstance(real, Exception):
            continue
        called, makes = True, makes or real is not None
        if refused:
            yield f"{call}: torch accepts it, refused: {guess.contradiction}"
        for one, tensor in pairs(guess.result, real):
            known += one.memory is not UNKNOWN
            if contradicts(one, tensor):
                yield f"{call}: inferred {one.memory} of {lying(tensor)}"
    if not called and row.key not in UNCALLED:
        yield "no call of it was found"
    if makes and not known and row.key not in UNCALLED:
        yield "the order of no call of it is known"


@pytest.mark.parametrize("row", everyday(rows_with_memory()), ids=lambda row: row.key)
def test_what_a_row_tells_is_how_torch_lays_it_out(row: Operator) -> None:
    wrong = list(faults(row))
    assert not wrong, "\n".join(wrong[:10])
