"""Names inside of function transforms, custom functions and checkpoints, and on their results."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import func, nn
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

from namecheck.runtime import NameMismatch
from tests.runtime.tensors import backward, called, named, names

pytestmark = pytest.mark.usefixtures("shim")

vmap: Any = torch.vmap
dual_numbers: Any = forward_ad
jacobian: Any = torch.autograd.functional.jacobian


def rows() -> torch.Tensor:
    return named("N", "C", sizes=(4, 3))


def others() -> torch.Tensor:
    return named("N", "K", sizes=(4, 5))


def layer() -> nn.Linear:
    made = nn.Linear(3, 2)
    called(made.weight, "K", "C")
    called(made.bias, "K")
    return made


MAPPED: dict[str, tuple[Callable[[], Any], tuple[str | None, ...]]] = {
    "by name inside": (lambda: vmap(lambda x: x.sum("C"))(rows()), ("N",)),
    "another dim": (lambda: vmap(lambda x: x * 2, in_dims=1)(rows()), ("C", "N")),
    "put elsewhere": (lambda: vmap(lambda x: x * 2, out_dims=1)(rows()), ("C", "N")),
    "put last": (lambda: vmap(lambda x: x * 2, out_dims=-1)(rows()), ("C", "N")),
    "there and back": (lambda: vmap(lambda x: x, in_dims=1, out_dims=1)(rows()), ("N", "C")),
    "two arguments": (lambda: vmap(torch.outer)(rows(), others()), ("N", "C", "K")),
    "one of them mapped": (
        lambda: vmap(torch.matmul, in_dims=(0, None))(rows(), named("C", "K", sizes=(3, 5))),
        ("N", "K"),
    ),
    "one of them unnamed": (lambda: vmap(torch.mul)(rows(), torch.rand(4, 3)), ("N", "C")),
    "nested": (lambda: vmap(vmap(torch.sin))(rows()), ("N", "C")),
    "an outer product": (
        lambda: vmap(vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None))(named("A"), named("B")),
        ("A", "B"),
    ),
    "in chunks": (lambda: vmap(torch.sin, chunk_size=2)(rows()), ("N", "C")),
    "in a dict": (lambda: vmap(lambda d: {"y": d["x"].sum("C")})({"x": rows()})["y"], ("N",)),
    "named inside": (lambda: vmap(lambda x: x.rename("Q"))(torch.rand(4, 3)), (None, "Q")),
    "not mapped": (
        lambda: vmap(lambda x, y: (x, y), in_dims=(0, None), out_dims=(0, None))(rows(), others())[
            1
        ],
        ("N", "K"),
    ),
    "a module": (lambda: vmap(layer())(rows()), ("N", "K")),
    "unnamed": (lambda: vmap(torch.sin)(torch.rand(4, 3)), (None, None)),
    "names that disagree are unknown": (
        lambda: vmap(torch.mul)(rows(), named("M", "C", sizes=(4, 3))),
        (None, "C"),
    ),
    "a name that is there already is unknown": (
        lambda: vmap(lambda x: x.rename("N"))(rows()),
        (None, "N"),
    ),
}


@pytest.mark.parametrize("how", MAPPED)
def test_vmap(how: str) -> None:
    call, expected = MAPPED[how]
    assert names(call()) == expected


def test_vmap_checks_inside() -> None:
    with pytest.raises(NameMismatch, match="'C' and dim 'K'"):
        vmap(lambda x, y: x * y)(rows(), named("N", "K", sizes=(4, 3)))


def test_vmap_leaves_its_arguments_alone() -> None:
    x, y = rows(), named("M", "C", sizes=(4, 3))
    first, second = vmap(lambda a, b: (a, b))(x, y)
    assert (names(x), names(y)) == (("N", "C"), ("M", "C"))
    assert (names(first), names(second)) == (("N", "C"), ("M", "C"))


def loss(x: Any) -> torch.Tensor:
    """A loss that uses the names."""
    total: torch.Tensor = (x.sum("C") ** 2).sum("N")
    return total


GRADIENTS: dict[str, Callable[[], Any]] = {
    "grad": lambda: func.grad(loss)(rows()),
    "grad_and_value": lambda: func.grad_and_value(loss)(rows())[0],
    "vjp": lambda: func.vjp(loss, rows())[1](torch.ones(()))[0],
    "jacrev": lambda: func.jacrev(lambda x: x.sum("C"))(rows()),
    "grad of vmap": lambda: func.grad(lambda x: vmap(lambda v: v.sum("C"))(x).sum("N"))(rows()),
    "jacfwd": lambda: func.jacfwd(lambda x: x.sum("C"))(rows()),
    "hessian": lambda: func.hessian(loss)(rows()),
    "tangent of jvp": lambda: func.jvp(lambda x: x.sum("C"), (rows(),), (rows(),))[1],
    "autograd.grad": lambda: torch.autograd.grad(loss(x := rows().requires_grad_()), x)[0],
    "functional.jacobian": lambda: jacobian(loss, rows()),
}


@pytest.mark.parametrize("how", GRADIENTS)
def test_functions_see_names_and_gradients_have_none(how: str) -> None:
    gradient = GRADIENTS[how]()
    assert names(gradient) == (None,) * gradient.dim()


def test_values_beside_gradients_keep_their_names() -> None:
    value: Any = func.vjp(lambda x: x.sum("C"), rows())[0]
    assert names(value) == ("N",)
    _, aside = func.grad(lambda x: (loss(x), x.sum("C")), has_aux=True)(rows())
    assert names(aside) == ("N",)


def test_forward_mode() -> None:
    with forward_ad.dual_level():
        dual = dual_numbers.make_dual(rows(), rows())
        primal, tangent = dual_numbers.unpack_dual(dual.sum("C"))
    assert (names(dual), names(primal), names(tangent)) == (("N", "C"), ("N",), (None,))
    value, linear = func.linearize(lambda x: x.sum(1), rows())
    assert names(value) == ("N",)
    assert names(linear(rows())) == (None,)


def test_gradients_of_each_sample() -> None:
    model = layer()
    state = {key: value.detach() for key, value in model.named_parameters()}
    gradients = vmap(
        func.grad(lambda params, x: func.functional_call(model, params, (x,)).sum("K")),
        in_dims=(None, 0),
    )(state, rows())
    assert names(gradients["weight"]) == ("N", None, None)


def test_functional_call() -> None:
    given = {"weight": called(torch.rand(2, 3), "K", "C")}
    assert names(func.functional_call(layer(), given, (rows(),))) == ("N", "K")


def test_an_ensemble() -> None:
    layers = [copy.deepcopy(layer()) for _ in range(2)]
    state, _ = func.stack_module_state(cast(Any, layers))
    result = vmap(lambda p, x: func.functional_call(layers[0], p, (x,)), in_dims=(0, None))(
        state, rows()
    )
    assert names(state["weight"]) == (None, "K", "C")
    assert names(result) == (None, "N", "K")


def test_functionalize() -> None:
    assert names(func.functionalize(lambda x: x.clone().mul_(2))(rows())) == ("N", "C")


class Doubled(torch.autograd.Function):
    """Twice its argument, whose names it records."""

    seen: list[Any] = []  # noqa: RUF012

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Save the argument."""
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        """Record the names of the saved tensor, and of the gradient."""
        [saved] = ctx.saved_tensors
        Doubled.seen += [names(saved), names(gradients[0])]
        return gradients[0] * 2


def test_a_custom_function() -> None:
    x = rows().requires_grad_()
    apply: Any = Doubled.apply
    Doubled.seen.clear()
    result = apply(x)
    backward(result.sum())
    assert names(result) == ("N", "C")
    assert Doubled.seen == [("N", "C"), (None, None)]
    assert names(x.grad) == (None, None)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_is_computed_again_with_the_same_names(reentrant: bool) -> None:
    seen = []

    def block(x: Any) -> Any:
        seen.append(names(x))
        return (x * 2).sum("C")

    x = rows().requires_grad_()
    result: Any = checkpoint(block, x, use_reentrant=reentrant)
    backward(result.sum())
    assert names(result) == ("N",)
    assert seen == [("N", "C")] * 2 if reentrant else [("N", "C")]
    assert names(x.grad) == (None, None)


def test_hooks_of_saved_tensors() -> None:
    x = rows().requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        backward((x * x).sum())
    assert names(x.grad) == (None, None)


def test_a_container_that_vmap_does_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._functorch import vmap as mapping

    class Pair:
        def __init__(self, *parts: torch.Tensor) -> None:
            self.parts = parts

    def processed(in_dims: Any, args: Any, function: Any) -> Any:
        flat, spec = pytree.tree_flatten(args)
        return len(flat[0].parts[0]), [0], flat, spec

    def batched(in_dims: Any, flat: Any, level: int, spec: Any) -> Any:
        parts = [torch._C._functorch._add_batch_dim(part, 0, level) for part in flat[0].parts]
        return [parts]

    monkeypatch.setattr(mapping, "_process_batched_inputs", processed)
    monkeypatch.setattr(mapping, "_create_batched_inputs", batched)
    added: Any = vmap(lambda parts: parts[0] + parts[1])(Pair(torch.ones(3), torch.ones(3)))
    assert added.tolist() == [2, 2, 2]
