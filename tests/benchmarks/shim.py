"""The cost of names at run time: each figure beside the same work on plain torch, in one process.

The shim is installed and uninstalled between the rounds, so that both sides see the same load.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any, Final, TypeAlias

import torch
from torch import nn

from namecheck.runtime import runtime

Step: TypeAlias = Callable[[], Any]
CALLS: Final = 1500
REPEATS: Final = 8
MICRO: Final = 1e6


@dataclass
class Times:
    """The best seconds of a step in each round, by side."""

    sides: dict[str, list[float]] = field(default_factory=dict)

    def add(self, side: str, seconds: float) -> None:
        """Add one round."""
        self.sides.setdefault(side, []).append(seconds)

    def best(self, side: str) -> float:
        """The minimum of all rounds: the time of the work without disturbance."""
        return min(self.sides[side])

    def median(self, side: str, base: str = "plain") -> float:
        """The median of the ratios of neighbouring rounds, the first left out."""
        pairs = zip(self.sides[side][1:], self.sides[base][1:], strict=True)
        return statistics.median(one / other for one, other in pairs)

    def ratio(self, side: str, base: str = "plain") -> float:
        """The best of one side over the best of the other."""
        return self.best(side) / self.best(base)


def best_of(step: Step, calls: int, repeats: int) -> float:
    """Seconds of processor time of one call, in the best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(calls):
            step()
        best = min(best, time.process_time() - begin)
    return best / calls


def decile_of(step: Step, calls: int) -> float:
    """Seconds of one call, in the lower decile: what interrupts the process lasts longer."""
    taken = []
    for _ in range(calls):
        begin = time.perf_counter_ns()
        step()
        taken.append(time.perf_counter_ns() - begin)
    return sorted(taken)[calls // 10] / 1e9


def _plain_steps(a: torch.Tensor, b: torch.Tensor, w: torch.Tensor) -> dict[str, Step]:
    return {
        "relu": lambda: torch.relu(a),
        "add": lambda: a + b,
        "sum": lambda: a.sum(1),
        "matmul": lambda: a @ w,
        "transpose": lambda: a.transpose(0, 1),
        "softmax": lambda: a.softmax(1),
    }


def _named_steps(a: Any, b: Any, w: Any) -> dict[str, Step]:
    return {
        "relu": lambda: torch.relu(a),
        "add": lambda: a + b,
        "sum": lambda: a.sum("C"),
        "matmul": lambda: a @ w,
        "transpose": lambda: a.transpose("N", "C"),
        "softmax": lambda: a.softmax("C"),
    }


def small_operators(rounds: int) -> None:
    """e: six operators on small tensors: plain, installed but unnamed, named."""
    torch.set_num_threads(1)
    times = {name: Times() for name in _plain_steps(*_matrices())}
    for _ in range(rounds):
        _round(times, "plain", _plain_steps(*_matrices()))
        with runtime():
            _round(times, "unnamed", _plain_steps(*_matrices()))
            _round(times, "named", _named_steps(*_named_matrices()))
    print(f"(e) six operators on small tensors, best of {rounds} rounds")
    print(f"  {'':<10} {'plain':>9} {'unnamed':>9} {'named':>9}")
    for name, taken in times.items():
        shown = "".join(f"{taken.ratio(side):>10.2f}" for side in ("unnamed", "named"))
        print(f"  {name:<10} {taken.best('plain') * MICRO:>6.2f} µs{shown}")
    means = {s: statistics.mean(t.ratio(s) for t in times.values()) for s in ("unnamed", "named")}
    print(f"  {'mean':<10} {'':>9}{means['unnamed']:>10.2f}{means['named']:>10.2f}")


def _round(times: Mapping[str, Times], side: str, steps: Mapping[str, Step]) -> None:
    for name, step in steps.items():
        times[name].add(side, best_of(step, CALLS, REPEATS))


def _matrices() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(4, 8), torch.randn(4, 8), torch.randn(8, 4)


def _named_matrices() -> Sequence[Any]:
    for tensor, names in zip(matrices := _matrices(), ("NC", "NC", "CD"), strict=True):
        tensor.names = tuple(names)  # type: ignore[attr-defined]
    return matrices


class Block(nn.Module):
    """A transformer block; `named` is whether it refers to dims by name or by index."""

    def __init__(self, width: int, heads: int, *, named: bool) -> None:
        super().__init__()
        self.heads = heads
        self.named = named
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """The block's output, with the dims of its input."""
        attend = self.attend_by_name if self.named else self.attend
        x = x + attend(self.norms[0](x))
        return x + self.down(torch.relu(self.up(self.norms[1](x))))

    def attend(self, x: Any) -> Any:
        """Attention by indices: the input is (N, T, C)."""

        def split(part: Any) -> Any:
            return part.unflatten(2, (self.heads, -1)).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = (query @ key.transpose(2, 3)).softmax(3)
        return self.out((weights @ value).transpose(1, 2).flatten(2, 3))

    def attend_by_name(self, x: Any) -> Any:
        """The same by names."""
        sizes = (("H", self.heads), ("D", x.size("C") // self.heads))

        def split(part: Any) -> Any:
            return part.rename("N", "T", "C").unflatten("C", sizes).transpose("T", "H")

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        key, value = key.rename(T="S"), value.rename(T="S")
        weights = (query @ key.transpose("S", "D")).softmax("S")
        mixed = (weights @ value).transpose("H", "T").flatten(["H", "D"], "C")
        return self.out(mixed).rename("N", "T", "C")


def _step(block: Block, x: torch.Tensor) -> Step:
    def step() -> None:
        block.zero_grad()
        block(x).rename(None).sum().backward() if block.named else block(x).sum().backward()

    return step


# About 500, 1 and 0.3 ms a step.
BLOCKS: Final = {"large": (16, 128, 256, 4), "medium": (4, 32, 64, 4), "small": (1, 4, 16, 2)}


def transformer_block(rounds: int) -> None:
    """f: forward and backward of transformer blocks of three sizes: plain, unnamed, named."""
    torch.set_num_threads(1)
    print(f"(f) a transformer block, forward and backward, lower deciles, {rounds} rounds")
    for size, (batch, length, width, heads) in BLOCKS.items():
        times = Times()
        calls = 10 if size == "large" else 300
        unnamed = _step(Block(width, heads, named=False), torch.randn(batch, length, width))
        for _ in range(rounds + 1):
            times.add("plain", decile_of(unnamed, calls))
            with runtime():
                times.add("unnamed", decile_of(unnamed, calls))
                x = torch.randn(batch, length, width)
                x.names = ("N", "T", "C")  # type: ignore[attr-defined]
                named = _step(Block(width, heads, named=True), x)
                times.add("named", decile_of(named, calls))
        milliseconds = times.best("plain") * 1000
        ratios = ", ".join(f"{side} {times.median(side):.3f}" for side in ("unnamed", "named"))
        print(f"  {size:<8} {milliseconds:8.2f} ms a step   {ratios}")


BACKENDS: Final = ("eager", "aot_eager", "inductor")


def compiled(rounds: int) -> None:
    """u: a compiled function of two inputs and three outputs, with names and without."""
    torch.set_num_threads(1)
    print(f"(u) a compiled function, lower deciles, {rounds} rounds")
    with runtime():
        for backend in BACKENDS:
            plain = torch.compile(_compiled_twin(), backend=backend)
            named = torch.compile(_compiled_twin(), backend=backend)
            (a, b), (c, d) = _pair(), _pair()
            c.names = d.names = ("N", "C")
            steps: dict[str, Step] = {
                "plain": partial(plain, a, b),
                "named": partial(named, c, d),
            }
            times = Times()
            for _ in range(rounds + 1):
                for side, step in steps.items():
                    times.add(side, decile_of(step, 500))
            micro = times.best("plain") * MICRO
            print(f"  {backend:<10} {micro:8.1f} µs a call   ratio {times.median('named'):.3f}")


def _compiled_twin() -> Any:
    """A function that is compiled by itself: each has code of its own."""

    def chain(a: Any, b: Any) -> Any:
        x, y = a + b, a * b
        for _ in range(3):
            x = torch.relu(x + y)
            y = y * 0.5 + x
        return x, y, x - y

    code = chain.__code__
    return FunctionType(code.replace(co_name="chain"), globals())


def _pair() -> Any:
    return torch.randn(16, 16), torch.randn(16, 16)


def memory(rounds: int) -> None:
    """h: the memory of names, for each tensor and in the memos."""
    print("(h) memory")
    with runtime():
        count = 20_000
        tensors: list[Any] = [torch.zeros(2, 2) for _ in range(count)]
        tracemalloc.start()
        for tensor in tensors:
            tensor.names = ("N", "C")
        taken, _ = tracemalloc.get_traced_memory()
        print(f"  {taken / count:8.0f} bytes for the names of a tensor")
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        shapes = 20_000 * rounds
        for n in range(shapes):
            x: Any = torch.empty(n % 997 + 1, n // 997 + 1, device="meta")
            x.names = ("N", "C")
            x.squeeze("C")
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"  {(after - before) / 2**20:8.2f} MiB more after {shapes:,} distinct shapes")
