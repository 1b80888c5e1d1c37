"""Chains of calls on dense tensors, run on torch: each result has the inferred memory order.

They move, drop, cut, merge and split dims, and compute with earlier results.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import torch

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.runtime.test_memory_rows import contradicts

CHAINS: Final = 400
STEPS: Final = 8
SIZES: Final = (1, 2, 2, 3, 4)

Pair: TypeAlias = tuple[torch.Tensor, Tensor]
Made: TypeAlias = tuple[str, Callable[..., Any], tuple[Any, ...]]


def some_index(draw: random.Random, rank: int) -> Any:
    parts: list[Any] = []
    for _ in range(draw.randint(0, rank)):
        choice = draw.choice(
            (0, *[slice(None)] * 3, slice(1), slice(1, None), slice(0, None, 2), [0, 0])
        )
        parts += [None, choice] if draw.random() < 0.2 else [choice]
    if draw.random() < 0.3:
        parts.insert(draw.randint(0, len(parts)), ...)
    return tuple(parts)


def grouped(draw: random.Random, sizes: tuple[int, ...]) -> list[int]:
    new = list(sizes)
    for _ in range(draw.randrange(3)):
        if len(new) > 1:
            place = draw.randrange(len(new) - 1)
            new[place : place + 2] = [new[place] * new[place + 1]]
    if draw.random() < 0.3:
        new = [part for size in new for part in ((2, size // 2) if size % 2 == 0 else (size,))]
    return new


def wider(draw: random.Random, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes to expand a tensor to, some of them on its left."""
    new = [draw.choice((1, 2)) for _ in range(draw.randrange(2))]
    return (*new, *(draw.choice((1, 3)) if size == 1 else size for size in sizes))


def of_one(draw: random.Random, x: torch.Tensor) -> Made:
    """A call on one tensor: the operator's key for `infer`, torch's function, its arguments."""
    rank = x.dim()
    dim = draw.randrange(rank) if rank else 0
    other = draw.randrange(rank) if rank else 0
    order = tuple(draw.sample(range(rank), rank))
    new = tuple(grouped(draw, tuple(x.shape)))
    tensor = torch.Tensor
    calls: list[Made] = [
        ("transpose", tensor.transpose, (dim, other)),
        ("permute", tensor.permute, (order,)),
        ("movedim", tensor.movedim, (dim, other)),
        ("unsqueeze", tensor.unsqueeze, (draw.randint(0, rank),)),
        ("squeeze", tensor.squeeze, ()),
        ("reshape", tensor.reshape, (new,)),
        ("view", tensor.view, (new,)),
        ("contiguous", tensor.contiguous, ()),
        ("clone", tensor.clone, ()),
        ("relu", tensor.relu, ()),
        ("__getitem__", tensor.__getitem__, (some_index(draw, rank),)),
        ("expand", tensor.expand, (wider(draw, tuple(x.shape)),)),
        ("as_strided", tensor.as_strided, ((2, 2), (draw.choice((0, 1, 2)), 1))),
        ("repeat", tensor.repeat, (*(1,) * rank, 2)),
        ("flatten", tensor.flatten, ()),
    ]
    if rank:
        calls += [
            ("select", tensor.select, (dim, 0)),
            ("narrow", tensor.narrow, (dim, 0, draw.choice((1, 2)))),
            ("sum", tensor.sum, (dim,)),
            ("unflatten", tensor.unflatten, (dim, (-1, 1))),
            ("softmax", tensor.softmax, (dim,)),
            ("cumsum", tensor.cumsum, (dim,)),
            ("unfold", tensor.unfold, (dim, 2, draw.choice((1, 2)))),
            ("chunk", lambda x, *args: x.chunk(*args)[0], (2, dim)),
            ("sort", lambda x, dim: x.sort(dim).values, (dim,)),
        ]
    if rank > 1:
        calls += [("mT", lambda x: x.mT, ()), ("flatten", tensor.flatten, (0, 1))]
    if dim != other:
        calls.append(("diagonal", tensor.diagonal, (0, dim, other)))
    return draw.choice(calls)


def of_two(draw: random.Random, x: torch.Tensor, y: torch.Tensor) -> Made | None:
    calls: list[Made] = [
        ("add", operator.add, ()),
        ("mul", operator.mul, ()),
        ("where", lambda x, y: torch.where(x > 0, x, y), ()),
    ]
    if x.dim() > 1 and y.dim() > 1:
        calls.append(("matmul", operator.matmul, ()))
    return draw.choice(calls)


def steps(draw: random.Random) -> Iterator[tuple[str, Pair]]:
    """The results of one chain, each with its call."""
    made: list[Pair] = []
    for _ in range(STEPS):
        if len(made) < 2:
            sizes = [draw.choice(SIZES) for _ in range(draw.randrange(5))]
            known_tensor = Tensor(Dims.of(*[None] * len(sizes), sizes=sizes), "float32", memory=())
            made.append((torch.rand(sizes), known_tensor))
            continue
        (x, of_x), (y, of_y) = draw.choice(made), draw.choice(made)
        if x.numel() == 0 or y.numel() == 0:
            continue
        two = draw.random() < 0.4
        key, function, settings = of_two(draw, x, y) if two else of_one(draw, x)  # type: ignore[misc]
        operands = (of_x, of_y) if two else (of_x,)
        if key == "where":
            operands = (infer("gt", of_x, 0).result, *operands)
        guess = infer(key, *operands, *settings)
        try:
            real = function(x, *((y,) if two else ()), *settings)
        except (RuntimeError, IndexError) as error:
            refused = str(error)
        else:
            refused = ""
        if refused:
            missed = "view size is not compatible" in refused and guess.contradiction is None
            assert not missed or of_x.memory is UNKNOWN, (key, settings, of_x)
            continue
        assert guess.contradiction is None, (key, settings, operands, guess.contradiction)
        result = guess.result[0] if isinstance(guess.result, tuple) else guess.result
        if not isinstance(result, Tensor):
            continue
        made.append((real, result))
        yield f"{key}{settings} of {operands}", made[-1]


def test_chains_of_calls() -> None:
    draw = random.Random(7)
    known = unknown = 0
    for _ in range(CHAINS):
        for call, (real, known_tensor) in steps(draw):
            assert not contradicts(known_tensor, real), (
                f"{call}: {known_tensor}, {real.shape} {real.stride()}"
            )
            known += known_tensor.memory is not UNKNOWN
            unknown += known_tensor.memory is UNKNOWN
    assert known > 3 * unknown
