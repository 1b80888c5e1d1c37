"""Named tensors in each subsystem of torch: a function for each row of docs/subsystems.md.

It returns tensors that passed through the subsystem.
"""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy
import torch
from torch import distributions, func, nn, optim
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils import parametrizations, prune, rnn
from torch.onnx._internal.torchscript_exporter import utils as exporter
from torch.optim import swa_utils
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, default_collate

from namecheck.runtime.core import tensor_names
from tests.runtime.datasets import Rows
from tests.runtime.tensors import backward, called, named

Row = Callable[[], Any]

ROWS: Final[dict[str, Row]] = {}


def row(subsystem: str) -> Callable[[Row], Row]:
    """Register a function under the title of its row in the page."""

    def enter(function: Row) -> Row:
        assert subsystem not in ROWS
        ROWS[subsystem] = function
        return function

    return enter


def outcome(subsystem: str) -> str:
    """The names afterwards: "kept", "unknown", "dropped" or "refused"; the worst of several."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ROWS[subsystem]()
    except Exception as error:
        return f"refused: {error}"
    order = ("kept", "unknown", "dropped")
    return max(map(_outcome, _tensors(result)), key=order.index)


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    else:
        for part in value:
            yield from _tensors(part)


def _outcome(tensor: torch.Tensor) -> str:
    names = tensor_names.names_of(tensor)
    if names is None or all(name is None for name in names):
        return "dropped"
    return "unknown" if set(names) <= {tensor_names.UNKNOWN_NAME, None} else "kept"


def images() -> torch.Tensor:
    return named("N", "C", "H", "W", sizes=(2, 3, 8, 8))


def matrix() -> torch.Tensor:
    return named("N", "C", sizes=(4, 3))


def words() -> torch.Tensor:
    return named("N", "T", "E", sizes=(2, 5, 4))


def layer() -> nn.Linear:
    made = nn.Linear(3, 2)
    called(made.weight, "K", "C")
    called(made.bias, "K")
    return made


# Indexing


@row("indexing by ints, slices, `...`, None")
def _() -> Any:
    x = matrix()
    return x[0], x[:2], x[..., 0], x[None]


@row("indexing by lists")
def _() -> Any:
    return matrix()[[0, 1]]


@row("indexing by a mask of the whole tensor")
def _() -> Any:
    x = matrix()
    return x[x > 0.5]


@row("assigning to an index")
def _() -> Any:
    x = matrix()
    x[0] = 0
    x[x > 0.5] = 0
    return x


# Modules


@row("`nn`: activations, dropout, norms, pooling, padding, upsampling")
def _() -> Any:
    x: Any = images()
    made = (
        nn.GELU(),
        nn.PReLU(),
        nn.Softmax(1),
        nn.Dropout(),
        nn.BatchNorm2d(3),
        nn.LayerNorm(8),
        nn.GroupNorm(1, 3),
        nn.InstanceNorm2d(3),
        nn.RMSNorm(8),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.ZeroPad2d(1),
        nn.Upsample(scale_factor=2),
    )
    return [module(x) for module in made]


@row("`nn.Linear`, `nn.Bilinear`, `nn.Embedding`, `nn.Flatten`, `nn.Unflatten`")
def _() -> Any:
    x: Any = matrix()
    indices = called(torch.zeros(2, 5, dtype=torch.long), "N", "T")
    return [
        layer()(x),
        nn.Bilinear(3, 3, 2)(x, x),
        nn.Embedding(9, 4)(indices),
        nn.Flatten()(images()),
        nn.Unflatten(1, (1, 3))(x),
    ]


@row('`nn`: losses with `reduction="none"`')
def _() -> Any:
    x: Any = matrix()
    target = called(torch.zeros(4, dtype=torch.long), "N")
    return [
        nn.CrossEntropyLoss(reduction="none")(x, target),
        nn.MSELoss(reduction="none")(x, x),
        nn.BCEWithLogitsLoss(reduction="none")(x, x),
    ]


@row("`nn.TransformerEncoderLayer`, `nn.Transformer`")
def _() -> Any:
    x: Any = words()
    return [
        nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)(x),
        nn.Transformer(4, 2, 1, 1, 8, batch_first=True)(x, x),
    ]


@row("`nn.MultiheadAttention`")
def _() -> Any:
    x: Any = words()
    return nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)[0]


@row("`nn.functional.scaled_dot_product_attention`")
def _() -> Any:
    attend: Any = nn.functional.scaled_dot_product_attention
    return attend(words(), words(), words())


@row("`nn`: convolutions")
def _() -> Any:
    x: Any = images()
    return [nn.Conv2d(3, 4, 3)(x), nn.ConvTranspose2d(3, 4, 3)(x)]


@row("`nn.RNN`, `nn.GRU`, `nn.LSTM` and their cells")
def _() -> Any:
    x: Any = words()
    cell = nn.GRUCell(3, 2)(matrix())
    return [nn.RNN(4, 3)(x), nn.GRU(4, 3)(x), nn.LSTM(4, 3)(x), cell]


@row("`nn.Parameter`, buffers, `module.to`, `.half()`, `to_empty`, `copy.deepcopy` of a module")
def _() -> Any:
    made: Any = layer()
    made.register_buffer("mean", named("C"))
    moved = copy.deepcopy(made).half()
    empty = copy.deepcopy(made).to_empty(device="cpu")
    return [nn.Parameter(matrix()), moved.weight, moved.mean, empty.weight]


@row("`state_dict` and `load_state_dict`, also with `assign=True`")
def _() -> Any:
    state = layer().state_dict()
    loaded, assigned = nn.Linear(3, 2), nn.Linear(3, 2)
    loaded.load_state_dict(state)
    assigned.load_state_dict(state, assign=True)
    return [state, loaded.weight, assigned.weight]


@row("`load_state_dict` of parameters with other names")
def _() -> Any:
    other = layer()
    called(other.weight, "C", "K")
    layer().load_state_dict(other.state_dict())


@row("parametrizations: `spectral_norm`, `register_parametrization`; pruning")
def _() -> Any:
    spectral, pruned = parametrizations.spectral_norm(layer()), layer()
    prune.l1_unstructured(pruned, "weight", amount=0.3)  # type: ignore[no-untyped-call]
    return [spectral.weight, spectral(matrix()), pruned.weight, pruned(matrix())]


@row("`weight_norm`: the computed weight")
def _() -> Any:
    return parametrizations.weight_norm(layer()).weight


@row("`swa_utils.AveragedModel` (EMA, SWA)")
def _() -> Any:
    averaged: Any = swa_utils.AveragedModel(layer())
    averaged.update_parameters(layer())
    averaged.update_parameters(layer())
    return averaged.module.weight, averaged(matrix())


@row("`nn.utils.parameters_to_vector`: the vector")
def _() -> Any:
    bias: Any = layer().bias
    bias.names = ("H",)
    unnamed = nn.Parameter(torch.ones(3))
    return nn.utils.parameters_to_vector([bias, unnamed])


@row("`nn.utils.vector_to_parameters`: the parameters")
def _() -> Any:
    own: Any = layer()
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(own.parameters()), own.parameters())
    return own.weight


@row("`nn.utils.rnn`: pack, pad")
def _() -> Any:
    rows = [named("T", "C", sizes=(length, 3)) for length in (4, 2)]
    return [rnn.pad_sequence(rows), rnn.pack_sequence(rows).data]


# Training


@row("autograd: the forward, custom `autograd.Function`s, hooks of saved tensors")
def _() -> Any:
    x = matrix().requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        return (x * x).sum(0)


@row("`.grad`, `autograd.grad`, `func.grad`, Jacobians: gradients")
def _() -> Any:
    x = matrix().requires_grad_()
    backward((x * x).sum())
    total = (x * x).sum()
    return [x.grad, torch.autograd.grad(total, x), func.grad(lambda y: (y * y).sum())(x.detach())]


@row("optimizers (SGD, Adam, AdamW, …), schedulers, `clip_grad_norm_`: the parameters")
def _() -> Any:
    model = layer()
    for kind in (optim.SGD, optim.Adam, optim.AdamW):
        optimizer = kind(model.parameters(), lr=0.1)
        schedule = optim.lr_scheduler.StepLR(optimizer, 1)
        backward(model(matrix()).sum())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return list(model.parameters())


@row("`autocast`, `GradScaler`")
def _() -> Any:
    model = layer()
    scaler: Any = torch.amp.GradScaler("cpu")
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = model(matrix())
    backward(scaler.scale(result.sum()))
    scaler.step(optimizer)
    scaler.update()
    return [result, *model.parameters()]


@row("gradient checkpointing")
def _() -> Any:
    x = matrix().requires_grad_()
    return [checkpoint(lambda y: y * 2, x, use_reentrant=way) for way in (False, True)]


@row("distributions: samples, `log_prob`, means, entropies")
def _() -> Any:
    normal: Any = distributions.Normal(matrix(), matrix())
    classes: Any = distributions.Categorical(logits=matrix())
    flags: list[Any] = [
        distributions.Bernoulli(probs=matrix()),
        distributions.Bernoulli(logits=matrix()),
    ]
    return [
        *(normal.rsample(), normal.log_prob(normal.sample()), normal.entropy()),
        *(classes.sample(), classes.log_prob(classes.sample()), classes.entropy()),
        *(flag.log_prob(flag.sample()) for flag in flags),
        *(flag.entropy() for flag in flags),
        *(flag.mean for flag in flags),
    ]


@row("distributions: samples of `Categorical` with more than two dims, and of `Multinomial`")
def _() -> Any:
    classes: Any = distributions.Categorical(logits=words())
    counts: Any = distributions.Multinomial(3, logits=matrix())
    return [classes.sample(), counts.sample()]


@row("distributions: the means of `Cauchy` and of `StudentT`")
def _() -> Any:
    cauchy: Any = distributions.Cauchy(matrix(), matrix())
    student: Any = distributions.StudentT(matrix() + 3)
    return [cauchy.mean, student.mean]


@row("distributions: samples of `Beta` and `Dirichlet`")
def _() -> Any:
    beta: Any = distributions.Beta(matrix(), matrix())
    dirichlet: Any = distributions.Dirichlet(matrix())
    return [beta.sample(), dirichlet.sample()]


# Saving and sending


@row("serialization: `torch.save`, `torch.load` (`weights_only=True`, too), `pickle`, `copy`")
def _() -> Any:
    x = matrix()
    file = io.BytesIO()
    torch.save({"x": x, "layer": layer().state_dict()}, file)
    loaded = []
    for weights_only in (True, False):
        file.seek(0)
        loaded.append(torch.load(file, weights_only=weights_only))
    return [loaded, pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)]


@row("`default_collate`, `DataLoader`, its workers (fork and spawn)")
def _() -> Any:
    loaded = next(iter(DataLoader(Rows(), 2, num_workers=1, multiprocessing_context="fork")))
    return default_collate([named("C"), named("C")]), loaded["row"]


@row("multiprocessing: queues, pipes, shared memory")
def _() -> Any:
    x: Any = matrix()
    received, sent = torch.multiprocessing.Pipe(duplex=False)
    sent.send(x)
    return received.recv(), x.share_memory_()


@row("NumPy, DLPack, `tolist`")
def _() -> Any:
    x: Any = matrix()
    back = torch.from_numpy(x.numpy()), torch.utils.dlpack.from_dlpack(x), torch.tensor(x.tolist())
    return *back, numpy.sin(x)


# Kinds of tensors


@row("meta tensors, fake tensors")
def _() -> Any:
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(matrix())
    return matrix().to("meta") * 2, fake


@row("complex tensors")
def _() -> Any:
    x = torch.complex(matrix(), matrix())
    return x.abs(), x.conj(), x.real


@row("sparse tensors, all layouts")
def _() -> Any:
    coo: Any = torch.eye(3).to_sparse()
    csr: Any = torch.eye(3).to_sparse_csr()
    return coo.refine_names("A", "B") * 2, csr.refine_names("A", "B"), matrix().to_sparse()


@row("nested tensors: named as a whole")
def _() -> Any:
    nested: Any = torch.nested.nested_tensor(
        [torch.rand(2, 3), torch.rand(4, 3)], layout=torch.jagged
    )
    return nested.refine_names("N", "T", "C") * 2


@row("nested tensors: made of named ones")
def _() -> Any:
    return torch.nested.nested_tensor([matrix(), matrix()], layout=torch.jagged)


@row("quantized tensors")
def _() -> Any:
    return torch.quantize_per_tensor(matrix(), 0.1, 0, torch.qint8).dequantize()


class Plain(torch.Tensor):
    """A subclass without a behaviour of its own."""


class Passing(torch.overrides.TorchFunctionMode):
    """A mode that calls the function unchanged."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call it."""
        return func(*args, **(kwargs or {}))


@row("subclasses and modes with `__torch_function__` or `__torch_dispatch__`")
def _() -> Any:
    tensor = matrix().as_subclass(Plain)
    with Passing():
        passed = matrix() * 2
    return tensor, tensor * 2, torch.add(tensor, 1), passed


@row("custom operators (`torch.library`), operators called through `torch.ops`")
def _() -> Any:
    return torch.ops.aten.mul(matrix(), 2)


@row("first-class dims (`functorch.dim`)")
def _() -> Any:
    dim: Any = importlib.import_module("functorch.dim").Dim  # it has no types
    x: Any = matrix()
    rows, columns = dim("rows"), dim("columns")
    return x[rows, columns].order(columns, rows)


# Transforms and compilers


@row("`vmap`")
def _() -> Any:
    vmap: Any = torch.vmap
    return vmap(lambda x: x.sum("C"))(matrix()), vmap(torch.sin, in_dims=1)(matrix())


@row("`func.grad`, `vjp`, `functional_call`, `functionalize`: inside and outside of the function")
def _() -> Any:
    seen: list[Any] = []
    func.grad(lambda x: (seen.append(x), x.sum())[1])(matrix())  # type: ignore[func-returns-value]
    state = {"weight": called(torch.rand(2, 3), "K", "C")}
    value: Any = func.vjp(lambda x: x.sum(0), matrix())[0]
    return seen, func.functional_call(layer(), state, (matrix(),)), value


@row("`func.jvp`, forward-mode differentiation: inside and outside of the function")
def _() -> Any:
    return func.jvp(lambda x: x.sum(0), (matrix(),), (matrix(),))[0]


@row("`torch.fx.symbolic_trace`: the result of the traced module")
def _() -> Any:
    return torch.fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))(matrix())


def pooled(x: Any) -> Any:
    """The input of the compilers: an operator that takes a dim by name."""
    return (x * 2).sum("N")


def compiled(function: Any) -> Any:
    """A function as torch.compile traces it."""
    return torch.compile(function, backend="eager", fullgraph=True)


class Pooled(nn.Module):
    """A module that uses names."""

    def forward(self, x: Any) -> Any:
        """The sum over the batch."""
        return pooled(x)


@row("`torch.compile`: the result of the compiled function")
def _() -> Any:
    return compiled(pooled)(matrix())


@row("`vmap`, `func.grad`, `vjp`, `jvp` within `torch.compile`")
def _() -> Any:
    def transformed(x: Any) -> Any:
        mapped = torch.vmap(torch.sin)(x)
        value: Any = func.vjp(torch.cos, mapped)[0]
        return func.jvp(pooled, (value,), (torch.ones(4, 3),))[0]

    return compiled(transformed)(matrix())


@row("`torch.cond`")
def _() -> Any:
    return compiled(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)))(matrix())


@row("`torch.export`: the result of the exported program")
def _() -> Any:
    return torch.export.export(Pooled(), (matrix(),)).module()(matrix())


def summed(x: torch.Tensor) -> torch.Tensor:
    """The input of TorchScript."""
    return torch.relu(x).sum(dim=0)


def summed_by_name(x: torch.Tensor) -> torch.Tensor:
    """The same, with a name."""
    total: torch.Tensor = x.sum(dim="N")  # type: ignore[call-overload]
    return total


@row("`torch.jit.script`: the result of the compiled function")
def _() -> Any:
    script: Any = torch.jit.script
    return script(summed)(matrix())


@row("`torch.jit.script` of code that uses names")
def _() -> Any:
    script: Any = torch.jit.script
    return script(summed_by_name)(matrix())


@row("`torch.jit.trace`: the result of the traced function")
def _() -> Any:
    trace: Any = torch.jit.trace
    return trace(pooled, (matrix(),))(matrix())


@row("ONNX: the exported graph")
def _() -> Any:
    graph: Any = exporter._model_to_graph(Pooled(), (matrix(),))[0]
    assert "ReduceSum" in str(graph)
    return torch.rand([value.type().sizes()[0] for value in graph.outputs()])
