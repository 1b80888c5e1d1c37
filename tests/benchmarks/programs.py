"""Programs for measurements: small ones full of names, their annotated twins, and long ones.

A twin is the same program for torchshapeflow, which reads shapes from ``Annotated[torch.Tensor,
Shape("B", "T")]`` and accepts no dimension names.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

NAMES: Final = ("N", "C", "H", "W", "T", "D")
WIDER: Final = ("E", "F", "G", "K")
SHORTEST: Final = 30


@dataclass
class Body:
    """The statements of one function in both notations.

    `start` is the layout of its first parameters, `layout` that of the tensor it works on.
    """

    start: tuple[str, ...]
    layout: tuple[str, ...]
    weights: dict[str, tuple[str, str]] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)
    twin: list[str] = field(default_factory=list)

    def both(self, line: str) -> None:
        """A statement that reads the same in both notations."""
        self.named.append(line)
        self.twin.append(line)

    def by_dim(self, template: str, *dims: str) -> None:
        """A statement with dims: by name in the one notation, by index in the other."""
        self.named.append(template.format(*(repr(dim) for dim in dims)))
        self.twin.append(template.format(*(self.layout.index(dim) for dim in dims)))


def pair(seed: int) -> tuple[str, str]:
    """One program of 30 to 60 lines with named tensors, and its annotated twin."""
    chance = random.Random(seed)
    named = ["import torch"]
    twin = ["from typing import Annotated", "", "import torch", "from torchshapeflow import Shape"]
    number = 0
    while len(named) < SHORTEST:
        body = _body(chance, wrong=seed % 8 == 0 and number == 0)
        named += ["", "", *_named_function(number, body)]
        twin += ["", "", *_twin_function(number, body)]
        number += 1
    return "\n".join(named) + "\n", "\n".join(twin) + "\n"


def _body(chance: random.Random, *, wrong: bool) -> Body:
    start = tuple(chance.sample(NAMES, chance.randint(3, 4)))
    body = Body(start, start)
    body.both("y = x + x0")
    for _ in range(chance.randint(6, 9)):
        _step(chance, body)
    if wrong:
        body.layout = start
        body.by_dim("z = x.sum(dim={}) + x.sum(dim={})", start[0], start[-1])
    return body


def _step(chance: random.Random, body: Body) -> None:
    layout = body.layout
    dim = chance.choice(layout)
    match chance.randrange(7):
        case 0:
            body.both(f"y = torch.relu(y) + {chance.randint(1, 9)}")
        case 1:
            body.by_dim("y = torch.softmax(y, dim={})", dim)
        case 2 if len(layout) > 2:
            reduction = chance.choice(("sum", "mean"))
            body.by_dim(f"y = y.{reduction}(dim={{}})", dim)
            body.layout = tuple(d for d in layout if d != dim)
        case 3:
            other = chance.choice([d for d in layout if d != dim])
            body.by_dim("y = y.transpose({}, {})", dim, other)
            swap = {dim: other, other: dim}
            body.layout = tuple(swap.get(d, d) for d in layout)
        case 4 if (free := [d for d in WIDER if d not in layout]) and len(body.weights) < 2:
            weight = f"w{len(body.weights)}"
            body.weights[weight] = (layout[-1], chance.choice(free))
            body.both(f"y = y @ {weight}")
            body.layout = (*layout[:-1], body.weights[weight][1])
        case 5:
            body.both("if flag:")
            body.both("    y = torch.tanh(y)")
            body.both("else:")
            body.both("    y = y * 2.0")
        case _:
            body.both(f"for _ in range({chance.randint(2, 5)}):")
            body.both("    y = y + y")


def _named_function(number: int, body: Body) -> list[str]:
    tensors = _tensors(body)
    refine = [f"{name} = {name}.refine_names({_quoted(dims)})" for name, dims in tensors.items()]
    return [
        f"def step{number}({', '.join(tensors)}, flag):",
        *(f"    {line}" for line in (*refine, *body.named, "return y")),
    ]


def _twin_function(number: int, body: Body) -> list[str]:
    annotated = [
        f"    {name}: Annotated[torch.Tensor, Shape({_quoted(dims)})],"
        for name, dims in _tensors(body).items()
    ]
    return [
        f"def step{number}(",
        *annotated,
        "    flag: bool,",
        "):",
        *(f"    {line}" for line in (*body.twin, "return y")),
    ]


def _tensors(body: Body) -> dict[str, Sequence[str]]:
    """The tensor parameters of a function with their dims."""
    return {"x": body.start, "x0": body.start, **body.weights}


def _quoted(dims: Sequence[str]) -> str:
    return ", ".join(f'"{dim}"' for dim in dims)


def straight_line(lines: int) -> str:
    """One program with about this many lines, each of which operates on named tensors."""
    head = [
        "import torch",
        "x = torch.zeros(2, 3, 4, names=('N', 'C', 'T'))",
        "b = torch.ones(3, 1, names=('C', 'T'))",
    ]
    steps = (
        "x{n} = x{m} + b",
        "x{n} = torch.relu(x{m})",
        "x{n} = x{m}.softmax('C')",
        "x{n} = x{m}.align_to('N', 'C', 'T')",
        "x{n} = x{m} * x",
    )
    body = [steps[n % len(steps)].format(n=n, m=n - 1 if n else "") for n in range(lines - 3)]
    return "\n".join((*head, *body)) + "\n"
