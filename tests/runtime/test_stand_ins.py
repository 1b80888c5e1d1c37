"""What stands for torch's functions is used as they are: in classes, enumerations and tables."""

from __future__ import annotations

import copy
import enum
import pickle
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.runtime.gates import built_in, gated, needs_compiler
from tests.runtime.tensors import named, names

FUNCTIONS: Final[dict[str, Callable[[], Any]]] = {
    "torch.relu": lambda: torch.relu,
    "torch.add": lambda: torch.add,
    "torch.cat": lambda: torch.cat,
    "torch.zeros": lambda: torch.zeros,
    "torch.tensor": lambda: torch.tensor,
    "torch.conv2d": lambda: torch.conv2d,
    "torch.fft.fft": lambda: torch.fft.fft,
    "torch.linalg.vector_norm": lambda: torch.linalg.vector_norm,
    "F.linear": lambda: F.linear,
    "F.gelu": lambda: F.gelu,
}
# Found before anything is patched.
ORIGINALS: Final = {name: find() for name, find in FUNCTIONS.items()}
TABLE_OF_ORIGINALS: Final = {function: name for name, function in ORIGINALS.items()}


@pytest.fixture(scope="module", params=["python", pytest.param("gate", marks=needs_compiler)])
def patched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        is_compiled = request.param == "gate"
        gates = built_in(tmp_path_factory.mktemp("cache"), patch) if is_compiled else None
        with gated(gates):
            yield


pytestmark = pytest.mark.usefixtures("patched")


def test_an_attribute_of_a_class_binds_nothing() -> None:
    class Net(nn.Module):
        act: Any = torch.relu
        linear: Any = F.linear
        conv: Any = torch.conv2d
        join: Any = torch.cat
        zeros: Any = torch.zeros

        def forward(self, x: torch.Tensor) -> Any:
            return self.join([self.act(x), self.linear(x, torch.ones(3, 3))])

    net = Net()
    assert net(torch.ones(2, 3)).shape == (4, 3)
    assert names(net.act(named("N", "C"))) == ("N", "C")
    assert names(net.zeros(2, names=("N",))) == ("N",)
    kernel = torch.ones(1, 1, 2, 2)
    assert net.conv(torch.ones(1, 1, 4, 4), weight=kernel).shape == (1, 1, 3, 3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_no_descriptor(name: str) -> None:
    assert FUNCTIONS[name]() is not ORIGINALS[name]
    assert hasattr(FUNCTIONS[name](), "__get__") == hasattr(ORIGINALS[name], "__get__") is False


def test_a_method_binds_its_tensor() -> None:
    tensor: Any = named("N", "C")
    assert names(tensor.relu()) == names(torch.Tensor.relu(tensor)) == ("N", "C")


def test_members_of_an_enumeration() -> None:
    class Activation(enum.Enum):
        RELU = torch.relu
        TANH = torch.tanh

    assert [member.name for member in Activation] == ["RELU", "TANH"]
    relu: Any = Activation["RELU"].value
    assert names(relu(named("N"))) == ("N",)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_table_of_torch_s_functions_has_what_stands_for_them(name: str) -> None:
    function = FUNCTIONS[name]()
    assert TABLE_OF_ORIGINALS[function] == name
    assert function == ORIGINALS[name]
    assert [function] == [ORIGINALS[name]]
    assert {function} == {ORIGINALS[name]}
    assert function not in (torch.rand, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_copied_and_pickled_as_itself(name: str) -> None:
    function = FUNCTIONS[name]()
    assert copy.copy(function) is copy.deepcopy(function) is function
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_attributes_of_its_wrapper(name: str) -> None:
    function, original = FUNCTIONS[name](), ORIGINALS[name]
    assert function.__wrapped__ is original
    assert function.__doc__ == original.__doc__
    assert function.__name__ in repr(function)
    function.mark = 1
    assert vars(function)["mark"] == function.mark == 1
    del function.mark
    assert not hasattr(function, "mark")


class Item(dict[str, Any]):
    """An object whose attributes are its items: an unknown one is a KeyError."""

    __getattr__ = dict.__getitem__

    def __radd__(self, other: object) -> str:
        return "radd"

    def __index__(self) -> int:
        return 1


def test_an_object_may_refuse_to_be_asked_for_names() -> None:
    item: Any = Item()
    assert torch.ones(2) + item == "radd"
    assert torch.zeros(item).shape == (1,)
    assert torch.ones(3)[item] == 1
    assert (torch.ones(2) == item) is False
