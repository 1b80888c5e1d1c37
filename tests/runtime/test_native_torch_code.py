"""torch's own Python code on named tensors in the semantics of torch 2.12, which refused some.

The kernels are those that torch 2.12.1 named in its errors for these calls.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import io
import pickle
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

import pytest
import torch
from torch import distributions, nn, optim
from torch.nn.utils import rnn
from torch.overrides import TorchFunctionMode
from torch.utils.data import default_collate

import namecheck
from namecheck.core.semantics import Semantics
from namecheck.runtime import runtime
from tests.runtime.tensors import backward, called, named, names

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TORCH: Any = torch
UNSUPPORTED: Final = "aten::{} is not yet supported with named tensors"


@pytest.fixture
def native() -> Iterator[None]:
    with runtime(semantics=Semantics.NATIVE):
        yield


def step(kind: Callable[..., optim.Optimizer], **options: Any) -> Callable[[Any], Any]:
    """One step of an optimizer."""

    def run(matrix: Any) -> Any:
        parameter = called(matrix.detach().clone(), *matrix.names).requires_grad_()
        backward(parameter.sum())
        kind([parameter], lr=0.1, **options).step()
        return parameter

    return run


def layer_of(weight: Any) -> nn.Linear:
    layer = nn.Linear(3, 2)
    layer.weight = nn.Parameter(weight)
    return layer


def hooked(matrix: Any) -> Any:
    layer = nn.Linear(3, 2)
    layer.register_full_backward_hook(lambda *_: None)
    return layer(matrix.requires_grad_())


REFUSED: Final[list[tuple[str, Callable[[Any], Any]]]] = [
    ("eye.m_out", nn.init.eye_),
    ("new_empty", nn.init.orthogonal_),
    ("index_put_", lambda x: nn.init.sparse_(x, 0.5)),
    ("stack", lambda x: default_collate([x, x])),
    ("lerp_.Scalar", step(optim.Adam, foreach=False)),
    ("_foreach_lerp_.Scalar", step(optim.Adam, foreach=True)),
    ("_foreach_add_.List", step(optim.SGD, foreach=True)),
    ("index_put_", step(optim.Rprop, foreach=False)),
    ("_is_all_true", lambda x: distributions.Normal(x, 1.0, validate_args=True)),
    ("view", lambda x: distributions.Categorical(logits=x).sample()),
    (
        "binary_cross_entropy_with_logits",
        lambda x: distributions.Bernoulli(logits=x, validate_args=False).log_prob(x),
    ),
    ("softplus", lambda x: distributions.transforms.TanhTransform().log_abs_det_jacobian(x, x)),
    ("view", hooked),
    ("view", lambda x: nn.utils.parameters_to_vector([x])),
    ("view", lambda x: TORCH.autograd.functional.jacobian(lambda y: y * 2, x.requires_grad_())),
    ("view", lambda x: nn.utils.weight_norm(layer_of(x))),
    ("_pack_padded_sequence", lambda x: rnn.pack_padded_sequence(x, [2, 2, 1])),
    ("_nested_tensor_from_tensor_list", lambda x: torch.nested.nested_tensor([x, x])),
]


@pytest.mark.parametrize(("kernel", "call"), REFUSED)
def test_torch_refuses_names_in_its_own_code(kernel: str, call: Callable[[Any], Any]) -> None:
    with runtime(semantics=Semantics.NATIVE):
        with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format(kernel)):
            call(named("N", "C", sizes=(2, 3)))
        call(torch.rand(2, 3))
    with runtime():
        call(named("N", "C", sizes=(2, 3)))


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(
    "call",
    [
        step(optim.SGD, momentum=0.9, foreach=False),
        step(optim.RMSprop, foreach=False),
        step(optim.Adagrad, foreach=False),
        nn.init.zeros_,
        nn.init.xavier_uniform_,
        lambda x: torch.utils.checkpoint.checkpoint(torch.relu, x, use_reentrant=False),
        lambda x: distributions.Normal(x, 2.0, validate_args=False).rsample(),
        lambda x: torch.func.vmap(lambda row: row)(x),
        nn.AlphaDropout().eval(),
        nn.Dropout2d(0.0),
    ],
)
def test_torch_accepts_names_in_its_own_code(call: Callable[[Any], Any]) -> None:
    assert names(call(named("N", "C", sizes=(2, 3)))) == ("N", "C")


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(
    "store",
    [
        copy.copy,
        pickle.dumps,
        ForkingPickler.dumps,
        lambda x: torch.save({"weights": x}, io.BytesIO()),
        lambda x: torch.save(nn.Parameter(x), io.BytesIO()),
    ],
)
def test_names_are_not_stored(store: Callable[[Any], Any]) -> None:
    with pytest.raises(namecheck.NameMismatch, match="don't support serialization"):
        store(named("N", None, sizes=(2, 3)))
    store(TORCH.rand(2, 3))


class Handled(torch.Tensor):
    """Passes every call on, as a class that only looks at them does."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        passed: Any = super()
        return passed.__torch_function__(func, types, args, kwargs or {})


class Passing(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


MOVED: Final[list[tuple[Callable[[Any], Any], tuple[str, ...]]]] = [
    (lambda x: x.rename("P", "Q"), ("P", "Q")),
    (lambda x: x.align_to("C", "N"), ("C", "N")),
    (lambda x: x.flatten(["N", "C"], "P"), ("P",)),
    (lambda x: x.unflatten("C", (("P", 1), ("Q", 3))), ("N", "P", "Q")),
]


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(("move", "expected"), MOVED)
def test_a_handler_passes_the_calls_of_the_naming_api_on(
    move: Callable[[Any], Any], expected: tuple[str, ...]
) -> None:
    matrix = named("N", "C", sizes=(2, 3))
    for _ in range(2):  # the second call may be remembered
        assert names(move(matrix.as_subclass(Handled))) == expected
        with Passing():
            assert names(move(matrix)) == expected
    with Passing(), pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("permute")):
        matrix.permute(1, 0)


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(
    "call",
    [
        torch.jit.script(nn.Tanh()),
        TORCH.jit.trace(nn.Linear(3, 2), (torch.rand(2, 3),)),
        torch.ops.aten.relu,
        torch.ops.aten.relu.default,
    ],
)
def test_torchscript_takes_no_names(call: Callable[[Any], Any]) -> None:
    with pytest.raises(namecheck.NameMismatch, match="unsupported in TorchScript"):
        call(named("N", "C", sizes=(2, 3)))
    call(torch.rand(2, 3))


@pytest.mark.usefixtures("native")
def test_a_named_tensor_makes_no_new_one() -> None:
    matrix: Any = named("N", "C", sizes=(2, 3))
    with pytest.raises(namecheck.NameMismatch, match="doesn't correspond to a device"):
        matrix.new(2, 3)
    assert TORCH.rand(2, 3).new(matrix).shape == (2, 3)
    assert "tensor(" in TORCH._tensor_str._str(matrix)


@pytest.mark.parametrize("semantics", Semantics)
def test_an_argument_may_be_a_mapping_with_another_constructor(semantics: Semantics) -> None:
    with runtime(semantics=semantics):
        matrix: Any = named("N", "C", sizes=(2, 3))
        copied = copy.deepcopy([collections.defaultdict(dict, {1: matrix.rename(None)})])
        assert copied[0][1].shape == (2, 3)
        memo: Any = collections.defaultdict(list)
        expected = pytest.raises(namecheck.NameMismatch, match="new_empty")
        with expected if semantics is Semantics.NATIVE else contextlib.nullcontext():
            assert names(matrix.__deepcopy__(memo)) == ("N", "C")


@pytest.mark.usefixtures("native")
def test_a_compiled_function_is_checked_while_it_is_traced() -> None:
    compiled = torch.compile(lambda x: torch.relu(x) * 2, backend="eager")
    assert names(compiled(named("N", "C", sizes=(2, 3)))) == ("N", "C")


WEIGHT: Final = torch.ones(5, 4)
BIAS: Final = torch.ones(5)


@pytest.mark.usefixtures("native")
def test_a_linear_layer_keeps_the_names_of_an_input_that_it_cannot_fold() -> None:
    """torch folds a contiguous input with a bias by `view`, which has no names."""
    cube: Any = named("A", "B", "C", sizes=(2, 3, 4))
    turned = cube.transpose(0, 1)
    linear = nn.functional.linear
    for _ in range(2):  # the second call may be remembered
        assert names(linear(turned, WEIGHT, BIAS)) == ("B", "A", None)
        with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("view")):
            linear(cube, WEIGHT, BIAS)
        with pytest.raises(namecheck.NameMismatch, match="Name mismatch: specified out tensor"):
            linear(turned, WEIGHT, called(BIAS.clone(), "O"))
        assert names(linear(cube, WEIGHT, torch.tensor(1.0))) == ("A", "B", None)


@pytest.mark.parametrize("semantics", Semantics)
def test_a_tensor_of_an_int_is_the_index_of_a_dim(semantics: Semantics) -> None:
    with runtime(semantics=semantics):
        matrix: Any = named("N", "C", sizes=(2, 3))
        place: Any = torch.tensor(0)
        for index, rest in ((0, ("C",)), (1, ("N",)), (0, ("C",))):
            place.fill_(index)
            assert names(matrix.sum(place)) == rest
            assert names(matrix.mean(dim=place)) == rest
            assert names(torch.sum(matrix, [place])) == rest
            assert names(matrix.unbind(place)[0]) == rest
        assert names(matrix.transpose(torch.tensor(0), torch.tensor(-1))) == ("C", "N")
        assert names(TORCH.cat([matrix, matrix], torch.tensor(1))) == ("N", "C")
        with pytest.raises(TypeError):
            matrix.sum(torch.tensor(0.0))
        scalar: Any = torch.tensor(True)
        with pytest.raises(TypeError, match="tuple of names"):
            scalar.refine_names([])


@pytest.mark.usefixtures("native")
def test_data_without_names_clears_those_of_the_tensor() -> None:
    matrix: Any = named("N", "C", sizes=(2, 3))
    matrix.data = torch.zeros(2, 3)
    assert names(matrix) == (None, None)
    matrix.data = named("A", "B", sizes=(2, 3))
    assert names(matrix) == ("A", "B")
