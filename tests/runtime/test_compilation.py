"""torch.compile with names: checked while tracing, and absent when the graph runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from namecheck.runtime import NameMismatch, runtime
from namecheck.runtime.core import call_sites
from tests.runtime.tensors import backward, called, named, names

BACKENDS: Final = ("eager", "aot_eager", "inductor")
ROOT: Final = Path(__file__).parents[2]

# torch with names, for type checkers that do not know them.
T: Any = torch
F: Any = functional

pytestmark = pytest.mark.usefixtures("shim")


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


def whole(function: Callable[..., Any], backend: Any = "aot_eager", **settings: Any) -> Any:
    """The function compiled in one piece."""
    return torch.compile(function, backend=backend, fullgraph=True, **settings)


def graphs() -> int:
    """How many graphs were compiled."""
    return int(counters["stats"]["unique_graphs"])


def assert_same(left: Any, right: Any) -> None:
    """Two results have the same values and names."""
    if isinstance(left, torch.Tensor):
        assert names(left) == names(right)
        torch.testing.assert_close(left, right)
    elif isinstance(left, tuple):
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    else:
        assert left == right


def attention(x: Any, weight: Any) -> Any:
    """Names set, looked up, moved, read, merged and dropped; tensors in tuples; inputs returned."""
    keys = x.matmul(weight).refine_names(..., "key")
    scores = torch.matmul(keys, keys.rename(N="M").transpose("M", "key"))
    shares = F.softmax(scores, dim="M")
    highest, at = shares.max("N")
    moved = shares.align_to("M", ..., "head").flatten(["M", "B", "N"], "all")
    both = T.zeros(4, names=("key",)) + keys
    first, second = both.chunk(2, "key")
    aligned = T.align_tensors(highest, shares)
    return moved, highest, at, first, second, aligned, shares.rename(None), x.mT, x, both.names


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_one_piece_and_once(backend: str) -> None:
    inputs = named("B", "N", "C"), torch.randn(4, 4)
    compiled = whole(attention, backend)
    for _ in range(2):
        assert_same(compiled(*inputs), attention(*inputs))
    assert graphs() == 1
    assert names(inputs[0]) == ("B", "N", "C")


def test_nothing_of_names_is_left_in_the_graph() -> None:
    calls: list[Any] = []

    def backend(module: torch.fx.GraphModule, _: Any) -> Any:
        calls.extend(node for node in module.graph.nodes if node.op.startswith("call"))
        return module.forward

    def step(x: Any) -> Any:
        return T.relu(x).refine_names("N", "C", "H").sum("C").align_to("H", "N")

    whole(step, backend)(named("N", "C", "H"))
    said = [(getattr(node.target, "__name__", node.target), node.args[1:]) for node in calls]
    assert said == [("relu", ()), ("sum", (1,)), ("permute", ([1, 0],))]


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_of_ours_runs(backend: str) -> None:
    def step(x: Any, y: Any) -> Any:
        z = (1 - x.T).mm(y)
        z += T.relu(y).sum("N")
        return T.softmax(z, "C").chunk(2, "C"), T.cat([z[1:], z], dim=0), z[None].rename(None)

    inputs = named("N", "C"), called(torch.ones(2, 3), "N", "D")
    compiled = whole(step, backend)
    compiled(*inputs)
    met: list[str] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and call_sites.is_ours(frame.f_code):
            met.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        results = compiled(*inputs)
    finally:
        sys.setprofile(None)
    assert not met or (backend, {*met}) == ("eager", {"forward", "read"})
    assert_same(results, step(*inputs))


@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_mismatch_raises_while_tracing(fullgraph: bool) -> None:
    def never(module: Any, _: Any) -> Any:
        raise AssertionError("something was compiled")

    def step(x: Any, y: Any) -> Any:
        return torch.relu(x) + y

    x, y = named("N", "C", "H"), named("N", "H", "C")
    with pytest.raises(NameMismatch) as eager:
        step(x, y)
    with pytest.raises(NameMismatch) as caught:
        torch.compile(step, backend=never, fullgraph=fullgraph)(x, y)
    assert str(caught.value).startswith(f"{eager.value}\n\nfrom user code:\n")
    assert caught.value.finding == eager.value.finding
    assert caught.value.__notes__ == eager.value.__notes__


WRONG: Final[dict[str, Callable[[Any], Any]]] = {
    "a name that is not there": lambda x: x.sum("Z"),
    "in a function of torch's in Python": lambda x: F.softmax(x, dim="Z"),
    "refined": lambda x: x.refine_names("A", "B", "C"),
    "aligned": lambda x: x.align_to("N"),
    "the size of a dim": lambda x: x.size("Z"),
    "renamed in place": lambda x: x.rename_(Z="A"),
    "set": lambda x: setattr(x, "names", ("A",)),
    "a list of names and indices": lambda x: x.sum(["N", 1]),
    "made": lambda x: T.zeros(2, names=("A", "B")),
}


@pytest.mark.parametrize("how", WRONG)
def test_the_errors_are_those_of_eager_mode(how: str) -> None:
    with pytest.raises(Exception) as eager:  # noqa: PT011 (whatever it is)
        WRONG[how](named("N", "C", "H"))
    with pytest.raises(type(eager.value)) as caught:
        whole(WRONG[how])(named("N", "C", "H"))
    assert str(caught.value).startswith(str(eager.value))


def test_other_names_trace_anew_and_the_same_do_not() -> None:
    def step(x: Any, y: Any) -> Any:
        return (x + y).sum(1) if x.names[0] == "N" else (x * y).sum(0)

    compiled = whole(step)
    for _ in range(3):
        assert names(compiled(named("N", "C"), torch.ones(2, 3))) == ("N",)
        assert names(compiled(named("A", "B"), torch.ones(2, 3))) == ("B",)
        assert names(compiled(torch.ones(2, 3), torch.ones(2, 3))) == (None,)
    assert graphs() == 3
    with pytest.raises(NameMismatch):
        compiled(named("N", "C"), named("C", "N", sizes=(2, 3)))


def test_a_parameter_that_gets_other_names_traces_anew() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3, 4))

        def forward(self, x: Any) -> Any:
            return x * self.scale

    module = Scale()
    compiled, x = whole(module), torch.ones(3, 4)
    for given in (("C", "H"), ("A", None), (None, None)):
        called(module.scale, *given)
        assert names(compiled(x)) == given
    called(module.scale, "A", "B")
    with pytest.raises(NameMismatch):
        compiled(called(x, "C", "H"))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_inputs_that_change(backend: str) -> None:
    def step(x: Any, y: Any, z: Any, w: Any, out: Any) -> Any:
        x += y
        z.rename_(N="M")
        w.names = ("A", "B")
        return torch.add(x, x, out=out)

    def inputs() -> list[Any]:
        return [
            torch.ones(2, 3),
            called(torch.ones(2, 3), "N", "C"),
            *(called(torch.ones(2, 3), "N", "C") for _ in range(2)),
            torch.empty(2, 3),
        ]

    ours, theirs = inputs(), inputs()
    assert_same(whole(step, backend)(*ours), step(*theirs))
    assert_same(tuple(ours), tuple(theirs))
    assert [names(tensor) for tensor in ours] == [
        ("N", "C"),
        ("N", "C"),
        ("M", "C"),
        ("A", "B"),
        ("N", "C"),
    ]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_names_that_were_dropped_do_not_come_back(backend: str) -> None:
    """The graph runs on tensors that still have names, without the calls that dropped them."""

    def step(x: Any, y: Any) -> Any:
        bare = x.rename(None)
        return bare + y, bare.view(3, 2), bare, x[0].rename(None)

    x, y = named("N", "C"), called(torch.ones(2, 3), "A", "B")
    compiled = whole(step, backend)
    for _ in range(2):
        assert_same(compiled(x, y), step(x, y))


def test_one_dim_that_is_flattened_is_the_same_data_under_another_name() -> None:
    def step(x: Any) -> Any:
        return x.flatten(1, 1, "f"), x

    x = torch.ones(2, 3)
    flat, same = whole(step)(x)
    assert (names(flat), names(same), same is x) == ((None, "f"), (None, None), True)
    assert flat.data_ptr() == x.data_ptr()


def test_across_a_graph_break() -> None:
    def step(x: Any) -> Any:
        y = x * 2
        torch._dynamo.graph_break()
        return y.sum("C")

    x = named("N", "C")
    assert_same(torch.compile(step, backend="aot_eager")(x), step(x))
    assert graphs() == 2


def test_sizes_that_are_symbols() -> None:
    def step(x: Any) -> Any:
        return (
            x.flatten(["C", "H"], "F").sum("F")
            + x.size("N")
            + x.unflatten("H", {"A": 2, "B": 2}).sum(("C", "A", "B"))
        )

    compiled = whole(step, dynamic=True)
    for size in (2, 3, 5):
        x = named("N", "C", "H", sizes=(size, size + 1, 4))
        assert_same(compiled(x), step(x))
    assert graphs() == 1


def test_names_that_depend_on_a_dynamic_size_are_unknown() -> None:
    def step(x: Any) -> Any:
        return x.squeeze(), x.reshape(x.shape[0], -1), x.flatten(1)

    compiled = whole(step, dynamic=True)
    for size in (2, 3):
        squeezed, reshaped, flattened = compiled(named("N", "C", "H", sizes=(size, size + 1, 4)))
        assert squeezed._names == ("?", "?", "?")
        assert reshaped._names == ("?", "?")
        assert flattened._names == ("N", None)
    assert graphs() == 1


def test_the_backward_pass() -> None:
    def step(x: Any) -> Any:
        y = checkpoint(lambda z: T.sin(z).transpose("N", "C"), x, use_reentrant=False)
        return (y * 2).sum("C").rename(None).sum()

    inputs = [called(torch.ones(2, 3), "N", "C").requires_grad_() for _ in range(2)]
    backward(whole(step)(inputs[0]))
    backward(step(inputs[1]))
    assert_same(inputs[0].grad, inputs[1].grad)


TRANSFORMS: Final[dict[str, Callable[[Any], Any]]] = {
    "vmap": lambda x: torch.vmap(lambda row: row.sum("C"), in_dims=0, out_dims=1)(x),
    "vmap over two": lambda x: torch.vmap(lambda one, other: one + other, (1, None))(x, x[:, 0]),
    "grad": lambda x: torch.func.grad(lambda z: z.sum("C").rename(None).sum())(x),
    "jvp": lambda x: torch.func.jvp(lambda z: z.sum("C"), (x,), (torch.ones_like(x),)),
    "vjp": lambda x: torch.func.vjp(lambda z: z.sum("C"), x)[0],
}


@pytest.mark.parametrize("how", TRANSFORMS)
def test_inside_of_transforms(how: str) -> None:
    x = named("N", "C", "H")
    assert_same(whole(TRANSFORMS[how])(x), TRANSFORMS[how](x))


def test_what_passes_in_one_mode_is_judged_anew_in_another() -> None:
    def step(x: Any, y: Any) -> Any:
        return x + y

    compiled, x, y = whole(step), named("N", "C"), called(torch.ones(2, 3), "A", "B")
    with runtime("record") as record:
        compiled(x, y)
        compiled(x, y)
    assert [(found.code, found.filename) for found in record.findings] == [("NC101", __file__)]
    with pytest.raises(NameMismatch):
        compiled(x, y)


PRELUDE: Final = """
import sys, torch, namecheck
x = torch.ones(2, 3)
def step(x):
    return torch.relu(x) + x
def compiled():
    return torch.compile(step, backend="eager", fullgraph=True)
"""

ORDERS: Final = {
    "installed before the tracer is imported": """
namecheck.install()
assert "torch._dynamo" not in sys.modules
x.names = ("N", "C")
assert compiled()(x).names == ("N", "C")
""",
    "compiled before anything is there": """
function = compiled()
function(x)
for _ in range(3):
    with namecheck.runtime():
        assert function(x.refine_names("N", "C")).names == ("N", "C")
    assert not hasattr(function(x), "names")
assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 3
namecheck.install()
x.names = ("N", "C")
assert function(x).names == ("N", "C")
assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 3
""",
}


@pytest.mark.parametrize("order", ORDERS)
def test_in_whatever_order(order: str) -> None:
    program = [sys.executable, "-c", PRELUDE + ORDERS[order]]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_what_inductor_makes_of_it_is_no_call_of_the_users() -> None:
    """Kernels would check operands that the compiler has moved; equal results are one tensor."""

    def step(x: Any, y: Any) -> Any:
        twice = x * 2
        return torch.mm(x.rename(None), y), twice, twice.rename("A", "B"), (x * 2).rename(None)

    x, y = named("N", "C", sizes=(64, 64)), named("N", "C", sizes=(64, 64))
    assert_same(whole(step, "inductor")(x, y), step(x, y))


def test_export_checks_names_and_leaves_none() -> None:
    class Step(nn.Module):
        def forward(self, x: Any) -> Any:
            return T.relu(x).sum("C")

    x = named("N", "C")
    exported = torch.export.export(Step(), (x,))
    assert names(exported.module()(torch.ones(2, 3))) == (None,)
    with pytest.raises(NameMismatch):
        torch.export.export(Step(), (torch.ones(2, 3),))


def test_script_knows_torchs_functions() -> None:
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Softmax(1))
    scripted: Any = T.jit.script(layers.eval())
    x = torch.ones(1, 1, 8, 8)
    torch.testing.assert_close(scripted(x), layers(x))


def test_a_trace_has_indices() -> None:
    x = named("N", "C")
    traced: Any = T.jit.trace(lambda x: x.sum("C"), (x,))
    torch.testing.assert_close(traced(torch.ones(2, 3)), torch.full((2,), 3.0))
