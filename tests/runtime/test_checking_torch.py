"""Checked functions under torch's function transforms: compiled, mapped, differentiated, exported.

Except in one test, names are not installed on torch here: a check does not need them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

import namecheck
from namecheck import NameMismatch, checked

NC = Annotated[Tensor, "N C"]
N = Annotated[Tensor, "N"]

GOOD = torch.zeros(2, 3)
FLAT = torch.zeros(2)


@checked
def total(x: NC, y: N | None = None, *more: N, **others: N) -> N:
    return x.sum(0)


@checked
def doubled(x: NC) -> Annotated[Tensor, "2*N C"]:
    return torch.cat([x, x])


class Adding(torch.nn.Module):
    @checked
    def forward(self, x: NC) -> NC:
        return x + total(x)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()


def compiled(function: Callable[..., Any], graphs: list[GraphModule] | None = None) -> Any:
    """A function compiled as one graph, which is recorded."""

    def backend(graph: GraphModule, inputs: object) -> Any:
        if graphs is not None:
            graphs.append(graph)
        return graph

    return torch.compile(function, backend=backend, fullgraph=True)


def test_compiled_functions_are_checked_while_they_are_traced() -> None:
    model = compiled(Adding())
    for _ in range(2):
        assert model(torch.ones(3, 3)).eq(4).all()
    with pytest.raises(NameMismatch) as raised:
        model(torch.ones(2, 3))
    assert str(raised.value).startswith(
        "total(): axis 'N' has size 3 in the result, but 2 in argument 'x'\n"
    )
    finding = raised.value.finding
    text = Path(__file__).read_text("utf-8").splitlines()
    assert text[finding.span.line - 1].strip() == "return x.sum(0)"
    call = finding.related[-1]
    assert text[call.span.line - 1].strip() == "return x + total(x)"


def test_sizes_that_vary_are_compared_as_they_are() -> None:
    function: Any = compiled(total)
    for size in (2, 3, 4):
        assert function(torch.ones(size, size), torch.ones(size)).shape == (size,)
    square, five, six = torch.ones(5, 5), torch.ones(5), torch.ones(6)
    for wrong in ((torch.ones(5, 6),), (square, six), (square, None, five, six)):
        with pytest.raises(NameMismatch, match="axis 'N' has size"):
            function(*wrong)
    with pytest.raises(NameMismatch, match="axis 'N' has size"):
        function(square, z=six)
    function(torch.ones(7, 7), None, torch.ones(7), z=torch.ones(7))


def test_a_check_leaves_nothing_in_the_graph_and_traces_no_more_often() -> None:
    checked_graphs: list[GraphModule] = []
    plain_graphs: list[GraphModule] = []
    ours, plain = compiled(doubled, checked_graphs), compiled(inspect.unwrap(doubled), plain_graphs)
    for size in range(2, 8):
        assert ours(torch.ones(size, 3)).shape == plain(torch.ones(size, 3)).shape
    assert len(checked_graphs) == len(plain_graphs) == 2
    for graph, other in zip(checked_graphs, plain_graphs, strict=True):
        assert [node.target for node in graph.graph.nodes if node.op != "placeholder"] == [
            node.target for node in other.graph.nodes if node.op != "placeholder"
        ]


def test_what_is_traced_before_it_is_called_is_checked_too() -> None:
    scope: dict[str, Any] = {"checked": checked, "NC": NC}
    exec("@checked\ndef same(x: 'Later') -> 'Later': return x\nLater = NC", scope)
    with pytest.raises(NameMismatch, match="argument 'x' has 1 dimension"):
        compiled(scope["same"])(FLAT)
    assert compiled(scope["same"])(GOOD).shape == (2, 3)


def test_a_mode_that_does_not_raise_holds_while_tracing() -> None:
    function = compiled(total)
    with namecheck.runtime("record") as record:
        assert function(GOOD).shape == (3,)
    assert [finding.code for finding in record.findings] == ["NC210"]
    with pytest.raises(NameMismatch):
        function(GOOD)


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


def test_the_declared_dtype_and_device_are_checked() -> None:
    @checked
    def place(
        x: Annotated[Tensor, "n", torch.int64, torch.device("cpu")],
        several: list[Annotated[Tensor, "n", torch.device("cpu")]],
    ) -> Annotated[Tensor, "n", torch.device("meta")]:
        return x if len(several) > 1 else x.to("meta")

    x = torch.zeros(3, dtype=torch.int64)
    for _ in range(2):  # the second time it comes from the memo
        place(x, [x])
        with pytest.raises(NameMismatch, match="'x' is of dtype float32, but"):
            place(x.float(), [x])
        with pytest.raises(NameMismatch, match=r"'several\[0\]' is on meta, but cpu is declared"):
            place(x, [x.to("meta")])
        with pytest.raises(NameMismatch, match="the result is on cpu, but meta is declared"):
            place(x, [x, x])
