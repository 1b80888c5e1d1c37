"""Classes that override torch's functions receive the same calls with the shim as without it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch
from torch import nn

from namecheck.runtime import runtime
from tests.runtime.overriding_classes import (
    CALLS,
    EARLIER,
    EARLIER_COMPARING,
    EARLIER_SCALAR,
    Holder,
    comparing_class,
    scalar_class,
    tensor_class,
)
from tests.runtime.tensors import named, names


def heard(kind: Any, call: Callable[[Any], Any], tensor: torch.Tensor) -> tuple[list[str], Any]:
    """The functions that a class receives in a call, and the result of the call."""
    kind.heard.clear()
    result = call(tensor.as_subclass(kind))
    return list(kind.heard), result


WITHOUT: Final = {name: heard(EARLIER, call, torch.rand(2, 3))[0] for name, call in CALLS.items()}


@pytest.fixture(scope="module", autouse=True)
def later() -> Iterator[tuple[Any, Any]]:
    """Classes that are made while the shim is installed."""
    with runtime():
        yield tensor_class(), scalar_class()


def test_every_call_has_a_name_of_its_own() -> None:
    assert {name: [name] for name in CALLS} == WITHOUT


@pytest.mark.parametrize("name", CALLS)
def test_a_class_that_was_there_before(name: str) -> None:
    assert heard(EARLIER, CALLS[name], torch.rand(2, 3))[0] == WITHOUT[name]


@pytest.mark.parametrize("name", CALLS)
def test_a_class_that_came_later(name: str, later: tuple[Any, Any]) -> None:
    assert heard(later[0], CALLS[name], torch.rand(2, 3))[0] == WITHOUT[name]


def test_a_class_that_inherits_its_handler(later: tuple[Any, Any]) -> None:
    for above in (EARLIER, later[0]):
        below: Any = type("Below", (above,), {})
        assert heard(below, torch.relu, torch.rand(2, 3))[0] == ["torch.relu"]


@pytest.mark.parametrize("name", [name for name in CALLS if name != "Tensor.size"])
def test_names_go_through(name: str, later: tuple[Any, Any]) -> None:
    tensor = named("N", "C", sizes=(2, 3))
    expected = names(CALLS[name](tensor))
    for kind in (EARLIER, later[0]) * 2:
        told, result = heard(kind, CALLS[name], tensor)
        assert (told, names(result)) == (WITHOUT[name], expected)
        assert type(result) is kind


def test_names_stay_plain_where_they_are_written(later: tuple[Any, Any]) -> None:
    tensor = named("N", "C").as_subclass(later[0])
    assert b"namecheck" not in pickle.dumps(vars(tensor))
    assert pickle.loads(pickle.dumps(vars(tensor))) == {"_names": ("N", "C")}


def test_names_are_found_by_name(later: tuple[Any, Any]) -> None:
    for kind in (EARLIER, later[0]):
        tensor: Any = named("N", "C").as_subclass(kind)
        assert names(tensor.sum("N")) == ("C",)
        assert names(torch.rand(2, 3).as_subclass(kind).refine_names("N", "C")) == ("N", "C")


def test_what_is_no_tensor(later: tuple[Any, Any]) -> None:
    for kind in (EARLIER_SCALAR, later[1]):
        value: Any = kind()
        assert torch.mean(value) == "torch.mean"
        assert torch.add(value, value) == "torch.add"
        assert torch.nn.functional.relu(value) == "F.relu"
        with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.sin'"):
            torch.sin(value)


TENSORS: Final[dict[str, Callable[[], Any]]] = {
    "unnamed": lambda: torch.rand(2, 3),
    "named": lambda: named("N", "C", sizes=(2, 3)),
}


@pytest.mark.parametrize("which", TENSORS)
def test_what_is_no_tensor_beside_a_tensor(which: str, later: tuple[Any, Any]) -> None:
    tensor = TENSORS[which]()
    for kind in (EARLIER_SCALAR, later[1]):
        value: Any = kind()
        assert torch.add(value, tensor) == torch.add(tensor, value) == "torch.add"
        assert tensor.add(value) == tensor + value == "Tensor.add"
        assert torch.cat([tensor, value]) == torch.cat([value, tensor]) == "torch.cat"
        assert torch.nn.functional.linear(tensor, value) == "F.linear"


@pytest.mark.parametrize("which", TENSORS)
def test_a_handler_that_compares_functions(which: str) -> None:
    tensor = TENSORS[which]()
    for kind in (EARLIER_COMPARING, comparing_class()):
        value: Any = kind()
        assert torch.matmul(value, tensor) == torch.matmul(tensor, value) == "torch.matmul"
        assert tensor.add(value) == "Tensor.add"
        with pytest.raises(NotImplementedError, match=r"^mul$"):
            torch.mul(value, tensor)


def test_an_object_that_holds_a_tensor_keeps_its_names() -> None:
    held: Any = Holder(named("N", "C", sizes=(2, 3)))
    total: Any = torch.sum
    other = torch.rand(3)
    assert names(torch.mul(held, 2)) == names(torch.exp(held)) == ("N", "C")
    assert names(torch.mul(other, held)) == ("N", "C")
    assert names(total(held, "N")) == ("C",)


def test_an_error_of_a_handler_is_raised_as_it_is() -> None:
    calls: list[str] = []

    class Refusing:
        @classmethod
        def __torch_function__(cls, func: Any, *_: Any) -> Any:
            calls.append(func.__name__)
            raise TypeError("mine")

    value: Any = Refusing()
    for call in (torch.add, torch.mul):
        with pytest.raises(TypeError, match=r"^mine$"):
            call(value, torch.rand(2))
    with pytest.raises(TypeError, match=r"^mine$"):
        torch.nn.functional.relu(value)
    assert calls == ["add", "mul", "relu"]


def test_methods_in_python_of_a_class_that_came_later() -> None:
    class Powers(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.Tensor.__pow__:
                return "pow"
            if func is torch.Tensor.__rsub__:
                return "rsub"
            dispatch: Any = super().__torch_function__
            return dispatch(func, types, args, kwargs or {})

    tensor: Any = torch.ones(2).as_subclass(Powers)
    assert (tensor**2, 1 - tensor) == ("pow", "rsub")


@pytest.mark.filterwarnings("ignore:To copy construct:UserWarning")
def test_what_torch_does_not_hand_to_a_class(later: tuple[Any, Any]) -> None:
    for kind in (EARLIER, later[0]):
        tensor = torch.ones(2).as_subclass(kind)
        kind.heard.clear()
        assert type(torch.tensor(tensor)) is torch.Tensor
        assert torch.is_tensor(tensor)
        assert kind.heard == []


def test_a_handler_may_name_what_is_not_there_yet_or_cannot_be_compared() -> None:
    class Uncomparable:
        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

        __hash__ = None  # type: ignore[assignment]

    class Late(torch.Tensor):
        held = [Uncomparable(), torch.ones(3)]  # noqa: RUF012

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return "relu" if func in table else None

    table = {torch.relu}
    assert torch.relu(torch.ones(2).as_subclass(Late)) == "relu"


LAZY: Final[dict[str, Callable[[nn.Module], Any]]] = {
    "half": lambda module: module.half(),
    "to": lambda module: module.to("meta"),
    "deepcopy": copy.deepcopy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
    "state_dict": lambda module: module.state_dict(),
    "load_state_dict": lambda module: module.load_state_dict(nn.LazyLinear(2).state_dict()),
    "load_state_dict, initialized": lambda m: m.load_state_dict(nn.Linear(3, 2).state_dict()),
    "forward": lambda module: module(torch.rand(2, 3)),
}


@pytest.mark.parametrize("how", LAZY)
def test_parameters_that_are_not_initialized_yet(how: str) -> None:
    LAZY[how](nn.LazyLinear(2))


def test_a_masked_tensor() -> None:
    made: Any = torch.masked.masked_tensor
    masked = made(torch.rand(2, 3), torch.rand(2, 3) > 0.5)
    assert type(masked.sum(1)) is type(masked) is type(masked * 2)


def test_a_tensor_of_a_subclass_shows_its_names_once(shim: None) -> None:
    class Labelled(torch.Tensor):
        pass

    x: Any = torch.ones(2).as_subclass(Labelled)
    assert repr(x.rename("N")) == "Labelled([1., 1.], names=('N',))"
