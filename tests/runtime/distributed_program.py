"""A program of two processes, run by torchrun: ``-m tests.runtime.distributed_program FOLDER``.

It installs namecheck after its imports, as most programs would, runs every check on every rank, and
writes for each rank a file with the outcomes: "ok", or the traceback. Then it ends like a program
whose ranks disagree and that catches no error.
"""

from __future__ import annotations

import copy
import io
import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    set_model_state_dict,
)
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.distributed.tensor import (
    DTensor,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from namecheck.runtime import NameMismatch, install, runtime

CHECKS: Final[dict[str, Callable[[], None]]] = {}
_TIMEOUT: Final = timedelta(seconds=60)
_DISAGREE: Final = "rank 0 has ['N', 'C']; rank 1 has ['C', 'N']."


def check(function: Callable[[], None]) -> Callable[[], None]:
    """Register a check; its name says what must hold."""
    CHECKS[function.__name__] = function
    return function


def named(tensor: Any, *names: str | None) -> Any:
    """A tensor with these names set on it."""
    with torch.no_grad():
        return tensor.rename_(*names)


def batch() -> Any:
    return named(torch.arange(24.0).view(4, 6), "N", "C")


def disagreeing() -> Any:
    """A tensor with other names on rank 1."""
    return named(torch.ones(4, 6), *(("N", "C") if dist.get_rank() == 0 else ("C", "N")))


def mesh() -> DeviceMesh:
    return init_device_mesh("cpu", (2,))


def distribute(tensor: Any, *placements: Placement, **kwargs: Any) -> Any:
    """``distribute_tensor`` over the mesh of both ranks."""
    return distribute_tensor(tensor, mesh(), list(placements), **kwargs)


def from_local(tensor: Any, placement: Placement, **kwargs: Any) -> Any:
    return DTensor.from_local(tensor, mesh(), [placement], **kwargs)


def refused(call: Callable[[], Any], label: str, told: str = _DISAGREE) -> None:
    """Check that a call is refused on this rank, with a message that has both ranks."""
    with pytest.raises(NameMismatch) as raised:
        call()
    assert str(raised.value) == f"The names of {label} differ between the ranks: {told}"
    assert raised.value.finding.filename == __file__


class Layer(nn.Module):
    """``x @ weight + bias``; records the names of its tensors in the last forward."""

    def __init__(self, rows: str, columns: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(8) / 2)
        self.bias = nn.Parameter(torch.zeros(8))
        self.register_buffer("scale", torch.ones(8))
        named(self.weight, rows, columns)
        named(self.bias, columns)
        named(self.scale, columns)
        self.seen: dict[str, Any] = {}

    def forward(self, x: Any) -> Any:
        tensors = {"x": x, "weight": self.weight, "bias": self.bias, "scale": self.scale}
        self.seen = {key: tensor.names for key, tensor in tensors.items()}
        assert not isinstance(self.weight, DTensor)
        return (x @ self.weight + self.bias) * self.scale


class Net(nn.Module):
    """Two layers: N I to N H to N O."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Layer("I", "H")
        self.second = Layer("H", "O")

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


PARAMETERS: Final = {
    "first.weight": ("I", "H"),
    "first.bias": ("H",),
    "second.weight": ("H", "O"),
    "second.bias": ("O",),
}
STATE: Final = PARAMETERS | {"first.scale": ("H",), "second.scale": ("O",)}


def inputs(**kwargs: Any) -> Any:
    torch.manual_seed(dist.get_rank())
    return named(torch.rand(4, 8, **kwargs), "N", "I")


def names_of(tensors: Any) -> dict[str, Any]:
    """The names of parameters or of a state, by their keys."""
    return {key.removeprefix("module."): tensor.names for key, tensor in dict(tensors).items()}


def sharded() -> Any:
    net: Any = Net()
    fully_shard(net.first)
    return fully_shard(net)


def train(net: Any, rounds: int = 2) -> None:
    """Steps of AdamW; names are kept, gradients have none."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(rounds):
        optimizer.zero_grad()
        output = net(inputs())
        assert output.names == ("N", "O"), output.names
        output.sum(("N", "O")).backward()
        for parameter in net.parameters():
            assert parameter.grad.names == (None,) * parameter.dim()
        optimizer.step()
    assert names_of(net.named_parameters()) == PARAMETERS


# DTensor


@check
def distribute_tensor_keeps_names() -> None:
    for placement in (Shard(0), Shard(1), Replicate()):
        assert distribute(batch(), placement).names == ("N", "C")
        assert distribute(batch(), placement, src_data_rank=None).has_names()
    with mesh():
        whole: Any = distribute_tensor(batch())
        assert whole.names == ("N", "C")
    assert distribute(torch.ones(4, 6), Shard(0)).names == (None, None)


@check
def conversions_keep_names_and_data() -> None:
    d = distribute(batch(), Shard(0))
    assert d.full_tensor().names == ("N", "C")
    assert torch.equal(d.full_tensor(), batch())
    assert d.redistribute(placements=[Shard(1)]).names == ("N", "C")
    assert d.redistribute(placements=[Replicate()]).to_local().names == ("N", "C")
    local = d.to_local()
    assert local.names == ("N", "C")
    assert local.sum("N").shape == (6,)
    assert from_local(local, Shard(0)).names == ("N", "C")
    assert from_local(local, Shard(0), run_check=True).names == ("N", "C")


@check
def conversions_take_the_names_of_today() -> None:
    d = distribute(batch(), Shard(0))
    with torch.no_grad():
        assert d.to_local().names == ("N", "C")
        d.rename_("A", None)
        assert d.to_local().names == ("A", None)
        d.names = None
        assert d.to_local().names == (None, None)
    assert d.full_tensor().names == (None, None)


@check
def operators_infer_names_of_dtensors() -> None:
    d = distribute(batch(), Shard(0))
    assert d.sum("N").names == ("C",)
    assert torch.equal(d.sum("N").full_tensor(), batch().sum("N"))
    assert d.mean("C", keepdim=True).names == ("N", "C")
    weight = distribute(named(torch.ones(6, 3), "C", "D"), Replicate())
    assert (d @ weight).names == ("N", "D")
    row = distribute(named(torch.ones(6), "C"), Replicate())
    assert (d * row + 1).names == ("N", "C")
    assert d.align_to("C", "N").names == ("C", "N")
    assert d.rename(N="M")[0].names == ("C",)
    assert copy.deepcopy(d).names == d.detach().names == ("N", "C")
    assert "names=('N', 'C')" in repr(d)


@check
def operators_refuse_names_of_dtensors() -> None:
    d = distribute(batch(), Shard(0))
    with pytest.raises(NameMismatch, match="'C' and dim 'B'"):
        d + d.rename("A", "B")


@check
def gradients_of_dtensors_have_no_names() -> None:
    source = batch().requires_grad_()
    d = distribute(source, Shard(0))
    d.sum(("N", "C")).backward()
    assert d.grad.names == (None, None)
    local = batch().requires_grad_()
    from_local(local, Shard(0)).to_local().sum().backward()
    assert local.grad.names == (None, None)


@check
def saved_dtensors_keep_names() -> None:
    file = io.BytesIO()
    torch.save(distribute(batch(), Shard(0)), file)
    file.seek(0)
    assert torch.load(file).names == ("N", "C")


@check
def distributed_modules_keep_names() -> None:
    net = distribute_module(Layer("I", "H"), mesh())
    assert names_of(net.state_dict()) == {"weight": ("I", "H"), "bias": ("H",), "scale": ("H",)}


@check
def parallel_layers_keep_names() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    wanted = {}
    for index, (columns, rows) in enumerate((("I", "H"), ("H", "O"))):
        layer: Any = net[index]
        wanted[f"{index}.weight"] = named(layer.weight, rows, columns).names
        wanted[f"{index}.bias"] = named(layer.bias, rows).names
    parallelize_module(net, mesh(), {"0": ColwiseParallel(), "1": RowwiseParallel()})
    assert names_of(net.named_parameters()) == wanted
    assert torch.equal(net(inputs()), net(inputs()))


# Data parallel


@check
def ddp_keeps_names() -> None:
    net = DistributedDataParallel(Net())
    assert names_of(net.named_parameters()) == PARAMETERS
    assert names_of(net.state_dict()) == STATE
    train(net)
    assert net.module.second.seen["x"] == ("N", "H")


@check
def ddp_keeps_names_with_a_static_graph() -> None:
    train(DistributedDataParallel(Net(), static_graph=True), rounds=3)


@check
def ddp_keeps_names_while_it_looks_for_unused_parameters() -> None:
    train(DistributedDataParallel(Net(), find_unused_parameters=True))


def flat(**kwargs: Any) -> Any:
    return FullyShardedDataParallel(Net(), device_id=torch.device("cpu"), **kwargs)


def train_flat(net: Any) -> None:
    """Steps of AdamW under FSDP1: in each forward the whole parameters have their names."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        output = net(inputs())
        assert output.names == ("N", "O"), output.names
        for layer, (rows, columns) in ((net.first, "IH"), (net.second, "HO")):
            assert layer.seen["weight"] == (rows, columns)
            assert layer.seen["bias"] == layer.seen["scale"] == (columns,)
        output.sum(("N", "O")).backward()
        optimizer.step()


@check
def flat_parameters_get_their_names_back() -> None:
    for use_orig_params in (False, True):
        net = flat(use_orig_params=use_orig_params)
        train_flat(net)
        with FullyShardedDataParallel.summon_full_params(net):
            assert names_of(net.module.named_parameters()) == PARAMETERS
        assert names_of(net.state_dict()) == STATE


@check
def flat_parameters_keep_names_with_other_settings() -> None:
    train_flat(flat(sharding_strategy=ShardingStrategy.NO_SHARD, use_orig_params=True))
    train_flat(flat(sharding_strategy=ShardingStrategy.SHARD_GRAD_OP))
    with runtime("error"):
        net = flat(use_orig_params=True)
        with pytest.raises(NameMismatch):
            net(inputs().rename("H", "I"))


@check
def flat_parameters_without_names_have_none() -> None:
    for use_orig_params in (False, True):
        layers = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
        named(layers[0].bias, "H")
        net: Any = FullyShardedDataParallel(
            layers, device_id=torch.device("cpu"), use_orig_params=use_orig_params
        )
        assert net._flat_param.names == (None,)
        assert net(inputs()).names == ("N", None)
        with FullyShardedDataParallel.summon_full_params(net):
            assert net.module[0].bias.names == ("H",)
            assert net.module[1].bias.names == (None,)


@check
def ddp_accumulates_gradients() -> None:
    net = DistributedDataParallel(Net())
    with net.no_sync():
        net(inputs()).sum().backward()
    train(net)


@check
def a_ddp_checkpoint_keeps_names() -> None:
    file = io.BytesIO()
    torch.save(DistributedDataParallel(Net()).state_dict(), file)
    file.seek(0)
    net = DistributedDataParallel(Net())
    state = torch.load(file)
    net.load_state_dict(state)
    assert names_of(state) == STATE
    assert names_of(net.named_parameters()) == PARAMETERS


@check
def fsdp_keeps_names() -> None:
    net = sharded()
    assert all(isinstance(parameter, DTensor) for parameter in net.parameters())
    assert names_of(net.named_parameters()) == PARAMETERS
    train(net, rounds=3)
    wanted = {"x": ("N", "H"), "weight": ("H", "O"), "bias": ("O",), "scale": ("O",)}
    assert net.second.seen == wanted, net.second.seen


@check
def fsdp_keeps_names_of_unsharded_parameters() -> None:
    net = sharded()
    net.first.unshard()
    assert names_of(net.first.named_parameters()) == {"weight": ("I", "H"), "bias": ("H",)}
    assert not isinstance(net.first.weight, DTensor)
    net.first.reshard()
    assert isinstance(net.first.weight, DTensor)
    assert names_of(net.named_parameters()) == PARAMETERS


@check
def fsdp_keeps_names_of_activations_that_need_gradients() -> None:
    net = sharded()
    net(inputs(requires_grad=True)).sum().backward()
    assert net.first.seen["x"] == ("N", "I")


@check
def fsdp_keeps_names_in_mixed_precision_and_after_to() -> None:
    layer: Any = Layer("I", "H")
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    fully_shard(layer, mp_policy=policy)
    assert layer(inputs()).names == ("N", "H")
    assert layer.seen["weight"] == ("I", "H")
    net = sharded().double()
    assert names_of(net.named_parameters()) == PARAMETERS
    assert net(inputs(dtype=torch.float64)).names == ("N", "O")


@check
def fsdp_states_have_names() -> None:
    net = sharded()
    assert names_of(net.state_dict()) == STATE
    whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
    assert names_of(whole) == STATE


@check
def fsdp_loads_the_state_that_one_rank_has() -> None:
    net = sharded()
    state = Net().state_dict() if dist.get_rank() == 0 else {}
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(net, state, options=options)
    assert names_of(net.state_dict()) == STATE


@check
def an_fsdp_checkpoint_keeps_names() -> None:
    net, other = sharded(), sharded()
    train(net)
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(folder)
    save({"net": net.state_dict()}, checkpoint_id=folder[0])
    state = {"net": other.state_dict()}
    load(state, checkpoint_id=folder[0])
    other.load_state_dict(state["net"])
    for one, two in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(one.full_tensor(), two.full_tensor())
    assert names_of(other.named_parameters()) == PARAMETERS
    assert names_of(other.state_dict()) == STATE


# Collectives


@check
def collectives_in_place_keep_names() -> None:
    x = batch()
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    assert x.names == ("N", "C")


@check
def tensors_that_are_sent_as_objects_keep_names() -> None:
    gathered: list[Any] = [None, None]
    dist.all_gather_object(gathered, batch())
    assert [x.names for x in gathered] == [("N", "C"), ("N", "C")]


@check
def a_buffer_keeps_its_own_names() -> None:
    whole: Any = torch.empty(8, 6)
    parts: list[Any] = [torch.empty(4, 6), named(torch.empty(4, 6), "A", "B")]
    dist.all_gather(parts, batch())
    dist.all_gather(list(whole.chunk(2)), batch())
    assert whole.names == (None, None)
    assert [part.names for part in parts] == [(None, None), ("A", "B")]


@check
def functional_collectives_keep_names() -> None:
    x = batch()
    for result in (
        functional.all_reduce(x, "sum", mesh()),
        functional.broadcast(x, 0, mesh()),
        functional.all_gather_tensor(x, 0, mesh()),
        functional.reduce_scatter_tensor(x, "sum", 0, mesh()),
        functional.all_to_all_single(x, None, None, mesh()),
        *functional.all_reduce_coalesced([x, x], "sum", mesh()),
    ):
        assert result.names == ("N", "C")
        assert result.wait().names == ("N", "C")
        assert "names=('N', 'C')" in repr(result)


# Ranks that disagree


@check
def ranks_that_disagree_are_named_where_a_tensor_is_distributed() -> None:
    refused(lambda: distribute(disagreeing(), Shard(0)), "the tensor")
    refused(lambda: distribute(disagreeing(), Replicate()), "the tensor")
    grid = init_device_mesh("cpu", (1, 2))
    refused(lambda: distribute_tensor(disagreeing(), grid, [Shard(0), Shard(1)]), "the tensor")


@check
def a_rank_without_names_disagrees() -> None:
    x = torch.ones(4, 6) if dist.get_rank() else batch()
    told = "rank 0 has ['N', 'C']; rank 1 has [None, None]."
    refused(lambda: distribute(x, Shard(0)), "the tensor", told)


@check
def tensors_of_other_ranks_disagree() -> None:
    x = batch() if dist.get_rank() == 0 else named(torch.ones(4), "N")
    told = "rank 0 has ['N', 'C']; rank 1 has ['N']."
    refused(lambda: distribute(x, Shard(0)), "the tensor", told)


@check
def ranks_that_disagree_are_named_where_torch_compares_or_gathers() -> None:
    x = disagreeing()
    refused(lambda: from_local(x, Shard(0), run_check=True), "the tensor")
    d = from_local(x, Shard(0))
    refused(lambda: d.full_tensor(), "the tensor")


@check
def ranks_that_disagree_are_named_by_ddp_and_fsdp() -> None:
    net: Any = Layer(*(("N", "C") if dist.get_rank() == 0 else ("C", "N")))
    named(net.bias, "C")
    refused(lambda: DistributedDataParallel(net), "the parameter 'weight'")
    fully_shard(net)
    refused(lambda: net(torch.ones(4, 8)), "the parameter 'weight'")


@check
def nothing_is_compared_where_torch_does_not_communicate() -> None:
    if dist.get_rank() == 0:  # a rank that waits for the other would wait for ever
        distribute(batch(), Shard(0), src_data_rank=None)
        distribute(batch().to("meta"), Shard(0))
        from_local(batch(), Replicate()).full_tensor()


@check
def in_the_other_modes_all_ranks_go_on() -> None:
    with runtime("record") as record:
        d = distribute(disagreeing(), Shard(0))
    assert [finding.code for finding in record.findings] == ["NC113"]
    assert d.names == disagreeing().names


@check
def unknown_names_agree_with_all() -> None:
    x: Any = batch()
    x._names = ("N", "C" if dist.get_rank() else "?")
    assert distribute(x, Shard(0)).names[0] == "N"


def outcome(function: Callable[[], None]) -> str:
    """The outcome of a check on this rank; all ranks start it together."""
    dist.barrier()
    try:
        function()
    except BaseException:  # torch.distributed.checkpoint raises no plain Exception
        return traceback.format_exc()
    return "ok"


def main(folder: str) -> None:
    install()
    dist.init_process_group("gloo", timeout=_TIMEOUT)
    outcomes = {name: outcome(function) for name, function in CHECKS.items()}
    Path(folder, f"{dist.get_rank()}.json").write_text(json.dumps(outcomes))
    dist.barrier()
    distribute(disagreeing(), Shard(0))


if __name__ == "__main__":
    main(sys.argv[1])
