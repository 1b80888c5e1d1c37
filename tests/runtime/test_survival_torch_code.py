"""torch's own code on named tensors raises nothing, and computes the same as without names."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import distributions, nn, optim
from torch.nn.utils import parametrizations, prune, rnn
from torch.utils import _pytree as pytree

from namecheck.runtime import NameMismatch
from tests.runtime.tensors import backward, called, named, names

pytestmark = [
    pytest.mark.usefixtures("shim"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]


def labelled(tensor: torch.Tensor) -> torch.Tensor:
    """The data of a tensor, with dims named by position, so that equal positions agree."""
    return called(tensor.detach().clone(), *(f"d{place}" for place in range(tensor.dim())))


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def indices(*sizes: int) -> torch.Tensor:
    return torch.zeros(sizes, dtype=torch.long)


IMAGE: Final = (2, 4, 8, 8)
ROWS: Final = (5, 4)
STEPS: Final = (3, 5, 4)

MODULES: Final[dict[str, tuple[Callable[[], Any], tuple[Any, ...]]]] = {
    "Linear": (lambda: nn.Linear(4, 3), (ROWS,)),
    "Linear of steps": (lambda: nn.Linear(4, 3), (STEPS,)),
    "Bilinear": (lambda: nn.Bilinear(4, 4, 3), (ROWS, ROWS)),
    "Conv1d": (lambda: nn.Conv1d(5, 6, 3), (STEPS,)),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, padding_mode="reflect", padding=1), (IMAGE,)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 6, 3), (IMAGE,)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), (ROWS,)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), (IMAGE,)),
    "BatchNorm2d, cumulative": (lambda: nn.BatchNorm2d(4, momentum=None), (IMAGE,)),
    "LayerNorm": (lambda: nn.LayerNorm(8), (IMAGE,)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (IMAGE,)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, track_running_stats=True), (IMAGE,)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), (IMAGE,)),
    "RMSNorm": (lambda: nn.RMSNorm(8), (IMAGE,)),
    "PReLU": (lambda: nn.PReLU(4), (IMAGE,)),
    "GLU": (lambda: nn.GLU(), (IMAGE,)),
    "Softmax2d": (lambda: nn.Softmax2d(), (IMAGE,)),
    "Threshold": (lambda: nn.Threshold(0.1, 2.0), (IMAGE,)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, return_indices=True), (IMAGE,)),
    "FractionalMaxPool2d": (lambda: nn.FractionalMaxPool2d(2, output_size=3), (IMAGE,)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), (IMAGE,)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(2), (IMAGE,)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (IMAGE,)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (IMAGE,)),
    "Fold": (lambda: nn.Fold((4, 4), 2), ((2, 8, 9),)),
    "Unfold": (lambda: nn.Unfold(2), (IMAGE,)),
    "CircularPad2d": (lambda: nn.CircularPad2d(1), (IMAGE,)),
    "Flatten": (lambda: nn.Flatten(), (IMAGE,)),
    "Embedding": (lambda: nn.Embedding(9, 4, max_norm=1.0), (indices(2, 3),)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(9, 4), (indices(2, 3),)),
    "RNN": (lambda: nn.RNN(4, 3), (STEPS,)),
    "GRU": (lambda: nn.GRU(4, 3, 2, bidirectional=True), (STEPS,)),
    "LSTM": (lambda: nn.LSTM(4, 3, batch_first=True, proj_size=2), (STEPS,)),
    "LSTM of one": (lambda: nn.LSTM(4, 3), (ROWS,)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 3), (ROWS,)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2), (STEPS, STEPS, STEPS)),
    "MultiheadAttention, evaluated": (
        lambda: nn.MultiheadAttention(4, 2, batch_first=True).eval(),
        (STEPS, STEPS, STEPS),
    ),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), (STEPS,)),
    "TransformerEncoder, evaluated": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2
        ).eval(),
        (STEPS,),
    ),
    "Transformer": (lambda: nn.Transformer(4, 2, 1, 1, 8), (STEPS, STEPS)),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3, 6]),
        (ROWS, indices(5)),
    ),
    "CrossEntropyLoss": (lambda: nn.CrossEntropyLoss(label_smoothing=0.1), (ROWS, indices(5))),
    "CrossEntropyLoss of images": (
        lambda: nn.CrossEntropyLoss(weight=torch.ones(4)),
        (IMAGE, IMAGE),
    ),
    "NLLLoss": (lambda: nn.NLLLoss(), (ROWS, indices(5))),
    "BCELoss": (lambda: nn.BCELoss(), (ROWS, ROWS)),
    "BCEWithLogitsLoss": (lambda: nn.BCEWithLogitsLoss(pos_weight=torch.ones(4)), (ROWS, ROWS)),
    "KLDivLoss": (lambda: nn.KLDivLoss(reduction="batchmean"), (ROWS, ROWS)),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss(), (ROWS, ROWS)),
    "GaussianNLLLoss": (lambda: nn.GaussianNLLLoss(), (ROWS, ROWS, ROWS)),
    "PoissonNLLLoss": (lambda: nn.PoissonNLLLoss(full=True), (ROWS, ROWS)),
    "TripletMarginLoss": (lambda: nn.TripletMarginLoss(swap=True), (ROWS, ROWS, ROWS)),
    "TripletMarginWithDistanceLoss": (
        lambda: nn.TripletMarginWithDistanceLoss(),
        (ROWS, ROWS, ROWS),
    ),
    "MultiLabelSoftMarginLoss": (lambda: nn.MultiLabelSoftMarginLoss(), (ROWS, ROWS)),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), (ROWS, ROWS)),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(), (ROWS, ROWS)),
    "spectral_norm": (lambda: parametrizations.spectral_norm(nn.Linear(4, 3)), (ROWS,)),
    "weight_norm": (lambda: parametrizations.weight_norm(nn.Linear(4, 3)), (ROWS,)),
    "orthogonal": (lambda: parametrizations.orthogonal(nn.Linear(4, 3)), (ROWS,)),
    "pruned": (
        lambda: prune.ln_structured(nn.Linear(4, 3), "weight", amount=0.4, n=2, dim=0),  # type: ignore[no-untyped-call]
        (ROWS,),
    ),
    "LazyLinear": (lambda: nn.LazyLinear(3), (ROWS,)),
}


def made(kinds: tuple[Any, ...]) -> list[torch.Tensor]:
    return [torch.rand(kind) if isinstance(kind, tuple) else kind for kind in kinds]


@pytest.mark.parametrize("kind", MODULES)
def test_a_module_computes_the_same_with_names(kind: str) -> None:
    constructor, inputs = MODULES[kind]
    given = made(inputs)
    torch.manual_seed(0)
    expected = tensors(constructor()(*given))
    torch.manual_seed(0)
    results = tensors(constructor()(*map(labelled, given)))
    torch.testing.assert_close(results, expected)
    losses = [result.sum() for result in results if result.requires_grad]
    if losses:
        backward(torch.stack(losses).sum())


OPTIMIZERS: Final[list[tuple[Any, dict[str, Any]]]] = [
    (optim.SGD, {}),
    (optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (optim.Adam, {}),
    (optim.Adam, {"amsgrad": True}),
    (optim.Adam, {"fused": True}),
    (optim.AdamW, {}),
    (optim.AdamW, {"foreach": False}),
    (optim.AdamW, {"maximize": True}),
    (optim.NAdam, {}),
    (optim.RAdam, {}),
    (optim.Adamax, {}),
    (optim.Adadelta, {}),
    (optim.Adagrad, {}),
    (optim.ASGD, {}),
    (optim.RMSprop, {"centered": True, "momentum": 0.9}),
    (optim.Rprop, {}),
    (optim.Adafactor, {}),
    (optim.LBFGS, {}),
    (optim.LBFGS, {"line_search_fn": "strong_wolfe"}),
]


def trained(kind: Any, settings: dict[str, Any], *, with_names: bool) -> nn.Module:
    """A model after three steps of an optimizer, whose state was saved and loaded."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    x, first, last = torch.rand(5, 4), model[0], model[2]
    if with_names:
        called(x, "N", "in")
        called(first.weight, "hidden", "in")  # type: ignore[arg-type]
        called(first.bias, "hidden")  # type: ignore[arg-type]
        called(last.weight, "out", "hidden")  # type: ignore[arg-type]
        called(last.bias, "out")  # type: ignore[arg-type]
    optimizer = kind(model.parameters(), lr=0.01, **settings)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 9)
    for _ in range(3):

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss: torch.Tensor = model(x).pow(2).mean()
            backward(loss)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            return loss

        optimizer.step(closure)
        schedule.step()
        file = io.BytesIO()
        torch.save(optimizer.state_dict(), file)
        file.seek(0)
        optimizer.load_state_dict(torch.load(file))
    return model


@pytest.mark.parametrize(("kind", "settings"), OPTIMIZERS)
def test_an_optimizer_computes_the_same_with_names(kind: Any, settings: dict[str, Any]) -> None:
    plain = trained(kind, settings, with_names=False)
    model = trained(kind, settings, with_names=True)
    for parameter, expected in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(parameter, expected)
    assert list(map(names, model.parameters())) == [
        ("hidden", "in"),
        ("hidden",),
        ("out", "hidden"),
        ("out",),
    ]


def rates(*, sizes: tuple[int, ...] = (4, 3)) -> torch.Tensor:
    """Numbers between 0.1 and 0.9, with names."""
    return called(torch.rand(sizes) * 0.8 + 0.1, *("N", "C", "K")[: len(sizes)])


DISTRIBUTIONS: Final[dict[str, Callable[[], Any]]] = {
    "Normal": lambda: distributions.Normal(rates(), torch.rand(4, 3)),
    "Normal of a vector": lambda: distributions.Normal(rates(), called(torch.rand(3), "C")),
    "Bernoulli": lambda: distributions.Bernoulli(rates()),
    "Categorical": lambda: distributions.Categorical(logits=rates()),
    "OneHotCategorical": lambda: distributions.OneHotCategorical(rates()),
    "Beta": lambda: distributions.Beta(rates(), torch.rand(4, 3)),
    "Gamma": lambda: distributions.Gamma(rates(), torch.rand(4, 3)),
    "Dirichlet": lambda: distributions.Dirichlet(rates()),
    "Uniform": lambda: distributions.Uniform(rates(), rates() + 1),
    "Laplace": lambda: distributions.Laplace(rates(), rates()),
    "Poisson": lambda: distributions.Poisson(rates()),
    "Binomial": lambda: distributions.Binomial(10, rates()),
    "Multinomial": lambda: distributions.Multinomial(10, rates()),
    "StudentT": lambda: distributions.StudentT(rates(), rates(), rates()),
    "VonMises": lambda: distributions.VonMises(rates(), rates()),
    "LogisticNormal": lambda: distributions.LogisticNormal(rates(), rates()),
    "RelaxedOneHotCategorical": lambda: distributions.RelaxedOneHotCategorical(
        torch.tensor(1.0), rates()
    ),
    "MultivariateNormal": lambda: distributions.MultivariateNormal(
        rates(), called(torch.eye(3), "C", "D")
    ),
    "LowRankMultivariateNormal": lambda: distributions.LowRankMultivariateNormal(
        rates(), rates(sizes=(4, 3, 2)), rates()
    ),
    "MixtureSameFamily": lambda: distributions.MixtureSameFamily(
        distributions.Categorical(logits=rates()), distributions.Normal(rates(), rates())
    ),
    "Independent": lambda: distributions.Independent(distributions.Normal(rates(), rates()), 1),
    "TransformedDistribution": lambda: distributions.TransformedDistribution(
        distributions.Normal(rates(), rates()), [distributions.ExpTransform()]
    ),
}


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_a_distribution_of_named_parameters(kind: str) -> None:
    distribution = DISTRIBUTIONS[kind]()
    sample = distribution.sample()
    assert distribution.log_prob(sample).shape == distribution.batch_shape
    assert distribution.sample((5,)).shape == (5, *sample.shape)
    assert distribution.expand((2, *distribution.batch_shape)).sample().shape == (2, *sample.shape)
    repr(distribution)


def test_names_of_a_distribution() -> None:
    normal = DISTRIBUTIONS["Normal of a vector"]()
    assert names(normal.rsample()) == names(normal.log_prob(normal.mean)) == ("N", "C")
    assert names(normal.sample((5,))) == (None, "N", "C")
    assert names(DISTRIBUTIONS["Categorical"]().entropy()) == ("N",)


def test_parameters_of_a_distribution_that_contradict_give_unknown_names() -> None:
    normal: Any = distributions.Normal(rates(), called(torch.rand(4, 3), "A", "B"))
    assert names(normal.sample()) == (None, None)


def test_what_torch_hands_to_torch_is_passed_over() -> None:
    other, vmap = named("N", "K", sizes=(4, 3)), torch.vmap
    mapped: Any = vmap(torch.mul)
    assert names(mapped(rates(), other)) == ("N", None)
    with pytest.raises(NameMismatch):
        rates() * other


def test_other_helpers_of_torch() -> None:
    x: Any = rates()
    y = x.clone()
    torch.testing.assert_close(x, y)
    torch.testing.assert_close(x, y.rename("A", "B"))
    nn.utils.parameters_to_vector([x, y])
    parameters = [x.clone(), y.clone()]
    nn.utils.vector_to_parameters(torch.arange(24.0), parameters)
    assert list(map(names, parameters)) == [("N", "C")] * 2
    packed: Any = rnn.pack_padded_sequence(named("T", "N", "C"), [2, 2, 1])
    nn.LSTM(4, 2)(packed)
    rnn.pad_packed_sequence(packed)
    rnn.unpad_sequence(named("T", "N", "C"), torch.tensor([2, 1, 1]))
    assert "0.0" not in f"{x[0, 0]:.3f}" or float(x[0, 0]) < 0.1
    assert len(x) == len(list(x)) == 4
    assert names(next(iter(x))) == ("C",)


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_an_optimizer_keeps_the_names_of_a_parameter_whose_gradient_has_others(make: Any) -> None:
    parameter: Any = nn.Parameter(named("N", "C"))
    backward((parameter * parameter).sum())
    called(parameter.grad, "A", "B")
    make([parameter], lr=0.1).step()
    assert names(parameter) == ("N", "C")
