"""Loops reach their fixed point as soon as further rounds bring nothing new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from unittest import mock

import pytest

from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.evaluation.loops import Loops
from tests.interpreting import codes, notes

# Each with the number of rounds of all its loops: there were two more, or as many again.
SETTLING: Final = {
    "objects that the next round changes": (
        """
import einops
from jaxtyping import Float
from torch import Tensor

class Rolling:
    def __init__(self):
        self.count = 0

    def update(self, x: Float[Tensor, "... X"], y: Float[Tensor, "... Y"]):
        x = x.flatten(end_dim=-2).T
        y = y.flatten(end_dim=-2).T
        if self.count == 0:
            self.total = torch.zeros(x.shape[0])
            self.product = torch.zeros(x.shape[0], y.shape[0])
        self.count += x.shape[-1]
        self.total += einops.reduce(x, "X N -> X", "sum")
        self.product += einops.einsum(x, y, "X N, Y N -> X Y")

def update_rolling(x: Float[Tensor, "b s d"], y: Float[Tensor, "b s feats"], rolling):
    rolling.update(x, y)

def gathered(parts):
    rolling = Rolling()
    for part in parts:
        update_rolling(part, part.relu(), rolling)
    return rolling

def run(batches):
    for parts in batches:
        rolling = gathered(parts)
        print(rolling.product.T / rolling.total)
""",
        10,
    ),
    "a slice that moves": (
        """
def run(batches):
    part = slice(0, len(batches))
    for batch in batches:
        part = slice(part.stop, part.stop + len(batch))
""",
        2,
    ),
}

TURNING: Final = """
class Node:
    def __init__(self, x):
        self.x = x

def run(n: int):
    node = Node(torch.rand(2, 3, 4, 5, names=("A", "B", "C", "D")))
    nodes = [node]
    for _ in range(n):
        node = Node(node.x.permute(1, 2, 3, 0))
        nodes.append(node)
    reveal_names(node.x)
    reveal_names(nodes[-1].x)
"""


def rounds(source: str) -> int:
    """How often the bodies of the loops are run, in a program without findings."""
    count = 0
    once = Loops._once

    def counted(loops: Loops, *arguments: Any) -> Sequence[Store]:
        nonlocal count
        count += 1
        return once(loops, *arguments)

    with mock.patch.object(Loops, "_once", counted):
        assert codes(source) == []
    return count


@pytest.mark.parametrize("kind", SETTLING)
def test_a_loop_that_brings_nothing_new_ends(kind: str) -> None:
    source, count = SETTLING[kind]
    assert rounds(source) == count


def test_objects_that_go_on_changing_are_unknown() -> None:
    """The fourth of these has an order that none of the first three has."""
    assert notes(TURNING) == []
