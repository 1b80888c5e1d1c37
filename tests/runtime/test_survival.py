"""Names survive conversions of tensors: parameters, modules, copies, files, fake tensors."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from namecheck.runtime import NameMismatch
from tests.runtime.tensors import backward, called, named, names

pytestmark = pytest.mark.usefixtures("shim")


def linear() -> nn.Linear:
    """A layer whose parameters have names."""
    layer = nn.Linear(3, 4)
    called(layer.weight, "out", "in")
    called(layer.bias, "out")
    return layer


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def saved(value: Any, *, weights_only: bool) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=weights_only)


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickled,
    "save": lambda value: saved(value, weights_only=False),
    "save, weights_only": lambda value: saved(value, weights_only=True),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", [lambda tensor: tensor, nn.Parameter], ids=["tensor", "parameter"])
def test_copies(how: str, kind: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert names(COPIES[how](kind(named("N", "C")))) == ("N", "C")


@pytest.mark.parametrize("how", COPIES)
def test_copies_of_what_has_no_names_have_none(how: str) -> None:
    assert names(COPIES[how](torch.rand(2, 3))) == (None, None)


TENSORS: dict[str, Callable[[Any], Any]] = {
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "to dtype": lambda x: x.to(torch.float64),
    "to itself": lambda x: x.to("cpu"),
    "to meta": lambda x: x.to("meta"),
    "half": lambda x: x.half(),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "requires_grad_": lambda x: x.requires_grad_(),
    "slice": lambda x: x[:1, 1:],
    "transposed twice": lambda x: x.mT.mT,
    "Parameter": nn.Parameter,
    "Buffer": nn.Buffer,
    "as_subclass": lambda x: x.as_subclass(nn.Parameter),
    "_make_subclass": lambda x: torch.Tensor._make_subclass(nn.Parameter, x),
    "sparse": lambda x: x.to_sparse(),
    "compressed": lambda x: x.to_sparse_csr(),
    "as_tensor": torch.as_tensor,
}


@pytest.mark.parametrize("how", TENSORS)
def test_made_of_a_tensor(how: str) -> None:
    assert names(TENSORS[how](named("N", "C"))) == ("N", "C")


MODULES: dict[str, Callable[[nn.Linear], torch.Tensor]] = {
    "itself": lambda layer: layer.weight,
    "deepcopy": lambda layer: copy.deepcopy(layer).weight,
    "pickle": lambda layer: pickled(layer).weight,
    "half": lambda layer: layer.half().weight,
    "to": lambda layer: layer.to(torch.float64).weight,
    "to meta": lambda layer: layer.to("meta").weight,
    "to_empty": lambda layer: layer.to_empty(device="cpu").weight,
    "share_memory": lambda layer: layer.share_memory().weight,
    "state_dict": lambda layer: layer.state_dict()["weight"],
    "saved state": lambda layer: saved(layer.state_dict(), weights_only=True)["weight"],
    "ParameterList": lambda layer: nn.ParameterList([layer.weight])[0],
    "load into": lambda layer: loaded(nn.Linear(3, 4), layer).weight,
    "load unnamed": lambda layer: loaded(layer, nn.Linear(3, 4)).weight,
    "load, assign": lambda layer: loaded(nn.Linear(3, 4), layer, assign=True).weight,
}


def loaded(target: nn.Linear, source: nn.Linear, *, assign: bool = False) -> nn.Linear:
    target.load_state_dict(source.state_dict(), assign=assign)
    return target


@pytest.mark.parametrize("how", MODULES)
def test_parameters_of_a_module(how: str) -> None:
    assert names(MODULES[how](linear())) == ("out", "in")


@contextmanager
def converting(setting: str) -> Iterator[None]:
    """Have torch convert and load the parameters of modules in another way, for a block."""
    change = getattr(torch.__future__, f"set_{setting}_on_conversion")
    change(True)
    try:
        yield
    finally:
        change(False)


@pytest.mark.parametrize("setting", ["swap_module_params", "overwrite_module_params"])
def test_parameters_of_a_module_that_is_converted_otherwise(setting: str) -> None:
    with converting(setting):
        assert names(linear().half().weight) == ("out", "in")


def test_a_state_of_other_names_does_not_fit() -> None:
    other = linear()
    called(other.weight, "in", "out")
    with pytest.raises(RuntimeError, match="do not match"):
        loaded(linear(), other)
    with converting("swap_module_params"), pytest.raises(RuntimeError, match="While swapping"):
        loaded(linear(), other)


def test_a_tensor_loads_no_tensor_of_other_names() -> None:
    load: Callable[[torch.Tensor], torch.Tensor] = cast(Any, named("N", "C")).module_load
    assert names(load(named("N", "C"))) == ("N", "C")
    with pytest.raises(RuntimeError, match="dim 'C' and dim 'D'"):
        load(named("N", "D"))


def test_a_buffer_moves_with_its_module() -> None:
    module = nn.Module()
    module.register_buffer("mean", named("C"))
    assert names(module.half().mean) == ("C",)


def test_tied_parameters_stay_tied() -> None:
    tied = nn.Sequential(linear(), linear())
    cast(nn.Linear, tied[1]).weight = cast(nn.Linear, tied[0]).weight
    first, second = copy.deepcopy(tied)
    assert first.weight is second.weight
    assert names(second.weight) == ("out", "in")


def test_a_module_gives_names() -> None:
    assert names(linear()(called(torch.rand(2, 3), "N", "in"))) == ("N", "out")


def test_functions_of_modules_are_checked_where_the_user_calls_them() -> None:
    layer = linear()
    called(layer.bias, "bias")
    with pytest.raises(NameMismatch, match="'out' and dim 'bias'") as caught:
        layer(called(torch.rand(2, 3), "N", "in"))
    assert caught.value.finding.filename == __file__


def test_a_copy_does_not_share_its_names() -> None:
    tensor = named("N", "C")
    called(copy.copy(tensor), "A", "B")
    assert names(tensor) == ("N", "C")


def test_a_parameter_of_unnamed_data_has_no_names() -> None:
    assert names(nn.Parameter(torch.rand(2, 3))) == (None, None)


def test_gradients_have_no_names() -> None:
    tensor = named("N", "C").requires_grad_()
    backward((tensor * tensor).sum())
    assert names(tensor.grad) == (None, None)


def test_fake_tensors() -> None:
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(named("N", "C"))
        assert names(fake) == ("N", "C")
        assert names(fake.sum(0)) == ("C",)
        assert names(named("N", "C") * 2) == ("N", "C")
        with pytest.raises(NameMismatch):
            fake + mode.from_tensor(named("A", "B"))


def test_meta_tensors() -> None:
    meta = called(torch.empty(2, 3, device="meta"), "N", "C")
    assert names(meta.sum(0)) == ("C",)
    with pytest.raises(NameMismatch):
        meta + named("A", "B").to("meta")


def test_the_default_device_is_that_of_the_block() -> None:
    with torch.device("meta"):
        assert torch.zeros(3).is_meta
        assert cast(Any, torch).zeros(3, names=("N",)).is_meta


def test_a_sparse_tensor_can_be_named() -> None:
    sparse: Any = torch.eye(3).to_sparse()
    assert names(sparse.refine_names("A", "B").to_dense()) == ("A", "B")
    weights: Any = torch.eye(3).to_sparse().requires_grad_()
    backward(weights.refine_names("A", "B").to_dense().sum())
    assert weights.grad is not None


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_a_nested_tensor_can_be_named(layout: torch.layout) -> None:
    nested: Any = torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(4, 3)], layout=layout)
    assert names(nested) == (None, None, None)
    assert names(nested.refine_names("N", "T", "C")) == ("N", "T", "C")
    assert names(nn.functional.linear(nested, called(torch.rand(5, 3), "K", "C")))[-1] == "K"


class Logged(torch.Tensor):
    """A tensor that records the functions called on it."""

    calls: list[str] = []  # noqa: RUF012 (a tensor subclass has no place for its own)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func.__name__)
        dispatch: Any = super().__torch_function__
        return dispatch(func, types, args, kwargs or {})


def test_a_subclass_keeps_its_names_and_hears_of_its_calls_only() -> None:
    tensor = named("N", "C").as_subclass(Logged)
    Logged.calls.clear()
    total = torch.add(tensor, tensor)
    assert isinstance(total, Logged)
    assert names(total) == ("N", "C")
    assert names(tensor.sum(dim=1)) == ("N",)
    assert Logged.calls == ["add", "sum"]


class Modes(torch.overrides.TorchFunctionMode):
    """A mode that records the called functions."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_hears_of_the_calls_only() -> None:
    tensor = named("N", "C")
    with Modes() as mode:
        total = torch.add(tensor, tensor).sum(0)
    assert names(total) == ("C",)
    assert mode.calls == ["add", "sum"]
