"""Checked functions in what torch makes of functions: compiled, mapped, differentiated, exported.

The names are not on torch here: a check does not need them.
"""

from __future__ import annotations

from typing import Annotated

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from namecheck import NameMismatch, checked

NC = Annotated[Tensor, "N C"]
N = Annotated[Tensor, "N"]

GOOD = torch.zeros(2, 3)
FLAT = torch.zeros(2)


def test_under_compile() -> None:
    @checked
    def scaled(x: NC) -> NC:
        return x * 2

    class Scaling(torch.nn.Module):
        @checked
        def forward(self, x: NC) -> NC:
            return scaled(x) + 1

    compiled = torch.compile(Scaling(), backend="eager", fullgraph=True)
    for size in range(2, 5):
        assert compiled(torch.ones(size, 3)).eq(3).all()
    again = torch.compile(scaled, backend="eager", fullgraph=True)
    assert again(torch.ones(2, 3)).eq(2).all()


def test_under_vmap_and_export() -> None:
    @checked
    def dot(x: N, y: N) -> Annotated[Tensor, ""]:
        return (x * y).sum()

    assert torch.vmap(dot)(GOOD, GOOD).shape == (2,)
    assert torch.func.grad(dot)(FLAT, FLAT).shape == (2,)
    with pytest.raises(NameMismatch, match="argument 'x' has 2 dimensions"):
        torch.vmap(dot)(torch.zeros(2, 3, 4), GOOD)

    class Dot(torch.nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return dot(x, y)

    size = torch.export.Dim("size", min=2)
    exported = torch.export.export(
        Dot(), (FLAT, FLAT), dynamic_shapes={"x": {0: size}, "y": {0: size}}
    )
    assert exported.module()(torch.ones(7), torch.ones(7)) == 7


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace")
def test_what_a_tracer_shows_is_not_remembered() -> None:
    @checked
    def scaled(x: NC) -> NC:
        return x * 2

    traced = torch.jit.trace(scaled, (GOOD,), check_trace=False)  # type: ignore[no-untyped-call]
    assert traced(torch.ones(4, 3)).shape == (4, 3)
    make_fx(scaled, tracing_mode="symbolic")(GOOD)
    assert not scaled.__namecheck_checker__.memo  # type: ignore[attr-defined]
    scaled(GOOD)
    assert len(scaled.__namecheck_checker__.memo) == 1  # type: ignore[attr-defined]
