"""Layers without names are compiled, scripted, traced and stored as without namecheck."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch
from torch import fx, nn
from torch.nn import functional

from namecheck.core.semantics import Semantics
from namecheck.runtime import runtime
from tests.runtime.tensors import named, names

pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")]


@pytest.fixture(params=Semantics)
def either(request: pytest.FixtureRequest) -> Iterator[None]:
    """Names installed on torch, in each semantics."""
    with runtime(semantics=request.param):
        yield


SCRIPTED: Final[dict[str, Callable[[], nn.Module]]] = {
    "LSTM": lambda: nn.LSTM(2, 2),
    "GRUCell": lambda: nn.GRUCell(2, 2),
    "MultiheadAttention": lambda: nn.MultiheadAttention(2, 1),
    "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(2, 1),
    "Linear and ReLU": lambda: nn.Sequential(nn.Linear(2, 2), nn.ReLU()),
    "BatchNorm1d": lambda: nn.BatchNorm1d(2),  # it inherits its forward
    "ZeroPad2d": lambda: nn.ZeroPad2d(1),  # from a class that is patched too
    "CrossEntropyLoss": nn.CrossEntropyLoss,
}


@pytest.mark.parametrize("name", SCRIPTED)
def test_layers_are_scripted(name: str, either: None) -> None:
    layer = SCRIPTED[name]()
    assert torch.jit.script(layer).original_name == type(layer).__name__


COMPILED: Final[dict[str, Callable[[], Any]]] = {
    "MultiheadAttention": lambda: nn.MultiheadAttention(4, 1),
    "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(4, 2),
    "GRUCell": lambda: nn.GRUCell(4, 2),
    "Linear and ReLU": lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU()),
}


@pytest.mark.parametrize("name", COMPILED)
def test_layers_are_compiled_in_one_graph(name: str, either: None) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer = COMPILED[name]().eval()
    inputs = (torch.rand(2, 4),) * (3 if name == "MultiheadAttention" else 1)
    compiled: Any = torch.compile(layer, backend="eager", fullgraph=True)
    for given, expected in zip(_leaves(compiled(*inputs)), _leaves(layer(*inputs)), strict=True):
        torch.testing.assert_close(given, expected)


def _leaves(value: Any) -> tuple[torch.Tensor, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_a_name_that_enters_a_compiled_layer_is_carried() -> None:
    with runtime():
        torch._dynamo.reset()
        layer = nn.TransformerEncoderLayer(4, 2, batch_first=True).eval()
        compiled = torch.compile(layer, backend="eager")
        compiled(torch.rand(2, 3, 4))
        x = named("B", "T", "C", sizes=(2, 3, 4))
        assert names(compiled(x)) == names(layer(x)) == ("B", "T", "C")


def test_the_default_of_a_transformer_is_the_function_that_is_there(either: None) -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    assert layer.activation is functional.relu
    assert nn.TransformerEncoder(layer, 1).use_nested_tensor
    torch.save(layer, io.BytesIO())


def test_the_default_of_a_transformer_is_restored() -> None:
    before = nn.TransformerEncoderLayer.__init__.__defaults__
    with runtime():
        assert nn.TransformerEncoderLayer.__init__.__defaults__ != before
    assert nn.TransformerEncoderLayer.__init__.__defaults__ is before


FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "F.softmax": lambda x: functional.softmax(x, dim=1),
    "F.gelu": lambda x: functional.gelu(x),
    "F.max_pool1d": lambda x: functional.max_pool1d(x, 2),
    "torch.flatten": lambda x: torch.flatten(x, 1),
    "torch.einsum": lambda x: torch.einsum("ij->ji", x),
    "torch.split": lambda x: torch.split(x, 1),
    "torch.relu": lambda x: torch.relu(x),
    "torch.add": lambda x: torch.add(x, x),
    "torch.unflatten": lambda x: torch.unflatten(x, 1, (1, 2)),
}


def _traced(function: Callable[[Any], Any]) -> tuple[list[tuple[Any, ...]], list[Any]]:
    """What each node of a traced function is, and the functions that are called."""
    nodes = list(fx.symbolic_trace(function).graph.nodes)
    shown = [(node.op, node.name, str(node.args), str(node.kwargs)) for node in nodes]
    return shown, [node.target for node in nodes if node.op == "call_function"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_traced_function_is_that_of_the_program(name: str) -> None:
    plain, _ = _traced(FUNCTIONS[name])
    for semantics in Semantics:
        with runtime(semantics=semantics):
            shown, called = _traced(FUNCTIONS[name])
            assert shown == plain
            home = functional if name.startswith("F.") else torch
            # torch dispatches some functions between two others.
            assert name == "F.max_pool1d" or called == [getattr(home, name.partition(".")[2])]


class Named:
    """An object that is no tensor, with an attribute like that of names."""

    _names = ("rows", "columns")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func.__name__


def test_an_attribute_of_another_object_is_no_name(either: None) -> None:
    value: Any = Named()
    assert functional.softmax(value, dim=0) == "softmax"
    assert torch.add(value, value) == "add"
    assert torch.stack([value, value]) == "stack"


def test_a_function_in_several_places_is_one(either: None) -> None:
    assert functional.conv2d is torch.conv2d
    assert torch.functional.einsum is torch.einsum
    assert functional.relu_ is torch.relu_


def test_a_layer_shows_an_overriding_class_its_operators(either: None) -> None:
    heard: list[str] = []

    class Heard(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            heard.append(func.__name__)
            above: Any = super()
            return above.__torch_function__(func, types, args, kwargs or {})

    nn.Linear(2, 2)(torch.rand(3, 2).as_subclass(Heard))
    assert heard == ["linear"]


def test_a_dtype_is_refused_by_the_operator(either: None) -> None:
    with pytest.raises(TypeError, match="only implemented on integer and Boolean"):
        ~torch.ones(2)


def test_a_layer_takes_what_is_no_tensor(either: None) -> None:
    x = torch.rand(3, 2, 4)
    packed: Any = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2]))
    assert type(nn.LSTM(4, 5)(packed)[0]) is type(packed)
    identity: Any = nn.Identity()
    for value in ((x, x), None, {"x": x}):
        assert identity(value) is value
