"""Names in a program of several processes: DTensor, FSDP2, DDP and the functional collectives.

Ranks send each other data, never names: each rank's tensors keep the names that they have there,
and what torch makes anew of a tensor (a shard, the whole, a wrapper) is named after it. That all
ranks have the same names is looked at where torch itself talks to the other ranks or compares
them, and nowhere else, so that no rank waits for one that does not come.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

import torch

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.patch_table import Deferred, Patch
from namecheck.runtime.distributed import ranks

# Each gives a tensor with the dims of its first argument, or a list of such.
_COLLECTIVES: Final = (
    "all_gather_single",
    "all_gather_single_autograd",
    "all_gather_single_coalesced",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_gather_into_tensor_coalesced",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_single",
    "reduce_scatter_single_autograd",
    "reduce_scatter_single_coalesced",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "wait_tensor",
)

_ONE: Final = "the tensor"  # what a message calls the only one that is compared


def patches() -> Iterator[Deferred]:
    """The patches of torch.distributed; they wait until the program imports its parts."""
    if not torch.distributed.is_available():
        return
    yield Deferred("torch.distributed._functional_collectives", _of_collectives)
    yield Deferred("torch.distributed.tensor", _of_dtensor)
    yield Deferred("torch.distributed.fsdp._fully_shard._fsdp_param", _of_sharded_parameter)
    yield Deferred("torch.distributed.fsdp._fully_shard._fsdp_param_group", _of_parameter_group)
    yield Deferred("torch.nn.parallel.distributed", _of_data_parallel)


def name_after(source: Any, result: Any) -> None:
    """Give each tensor of `result` the names of the one at its place in `source`."""
    if torch.compiler.is_compiling():
        return
    if isinstance(source, (list, tuple)) and isinstance(result, (list, tuple)):
        for one, other in zip(source, result, strict=False):
            name_after(one, other)
    elif isinstance(source, torch.Tensor) and isinstance(result, torch.Tensor):
        names = getattr(source, tensor_names.ATTRIBUTE, None)
        if names != getattr(result, tensor_names.ATTRIBUTE, None):
            tensor_names.set_names(result, names)


def _named_after_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result is named after its first argument."""

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        name_after(args[0] if args else next(iter(kwargs.values())), result)
        return result

    return wrapper


def _wherever_imported(replacements: Mapping[Any, Any]) -> Iterator[Patch]:
    """Patches of every module that has a function, be it by ``from ... import``."""
    by_identity = {id(original): new for original, new in replacements.items()}
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if id(value) in by_identity:
                    yield Patch(module, attribute, by_identity[id(value)])


def _of_collectives(module: ModuleType) -> Iterator[Patch]:
    found = [vars(module)[name] for name in _COLLECTIVES if name in vars(module)]
    yield from _wherever_imported({function: _named_after_first(function) for function in found})
    pending = module.AsyncCollectiveTensor
    yield Patch(pending, "wait", _named_after_first(pending.wait))
    yield Patch(pending, "trigger_wait", _named_after_first(pending.trigger_wait))


def _of_dtensor(module: ModuleType) -> Iterator[Patch]:
    dtensor = module.DTensor
    yield Patch(dtensor, "from_local", staticmethod(_from_local(dtensor.from_local)))
    yield Patch(dtensor, "to_local", _named_after_first(dtensor.to_local))
    yield Patch(dtensor, "redistribute", _named_after_first(dtensor.redistribute))
    yield Patch(dtensor, "full_tensor", _full_tensor(dtensor.full_tensor))
    yield Patch(dtensor, "__repr__", _repr(dtensor.__repr__))
    original = module.distribute_tensor
    yield from _wherever_imported({original: _distribute_tensor(original, dtensor)})


def _from_local(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def from_local(local_tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = original(local_tensor, *args, **kwargs)
        name_after(local_tensor, result)
        if kwargs.get("run_check"):
            ranks.compare_over_mesh({_ONE: result}, result.device_mesh, "distributed")
        return result

    return from_local


def _distribute_tensor(original: Callable[..., Any], dtensor: type) -> Callable[..., Any]:
    @functools.wraps(original)
    def distribute_tensor(
        tensor: torch.Tensor, device_mesh: Any = None, placements: Any = None, **kwargs: Any
    ) -> Any:
        mesh = device_mesh or _current_mesh()
        # Without a source rank torch takes what each rank has, and sends nothing.
        if kwargs.get("src_data_rank", 0) is not None and not isinstance(tensor, dtensor):
            ranks.compare_over_mesh({_ONE: tensor}, mesh, "distributed")
        result = original(tensor, mesh, placements, **kwargs)
        name_after(tensor, result)
        return result

    return distribute_tensor


def _current_mesh() -> Any:
    meshes: Any = vars(torch.distributed.device_mesh)["_mesh_resources"]
    return meshes.get_current_mesh()


def _full_tensor(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def full_tensor(self: Any, **kwargs: Any) -> Any:
        if not all(placement.is_replicate() for placement in self.placements):
            ranks.compare_over_mesh({_ONE: self}, self.device_mesh, "gathered")
        result = original(self, **kwargs)
        name_after(self, result)
        return result

    return full_tensor


def _repr(original: Callable[..., str]) -> Callable[..., str]:
    """The text shows the local tensor, which is what ``to_local`` gives: named as that is."""

    @functools.wraps(original)
    def show(self: Any, *args: Any, **kwargs: Any) -> str:
        name_after(self, self._local_tensor)
        return original(self, *args, **kwargs)

    return show


def _of_sharded_parameter(module: ModuleType) -> Iterator[Patch]:
    """FSDP2 puts other tensors in a parameter's place: its shard, and the whole for a while."""
    owner = module.FSDPParam
    shard, unshard, reshard = (
        owner._init_sharded_param,
        owner.init_unsharded_param,
        owner.to_sharded_post_forward,
    )

    @functools.wraps(shard)
    def init_sharded_param(self: Any, param: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        shard(self, param, *args, **kwargs)
        name_after(param, self.sharded_param)

    @functools.wraps(unshard)
    def init_unsharded_param(self: Any) -> None:
        unshard(self)
        name_after(self.sharded_param, self._unsharded_param)

    @functools.wraps(reshard)
    def to_sharded_post_forward(self: Any) -> None:
        reshard(self)
        name_after(self.sharded_param, self._sharded_post_forward_param)

    yield Patch(owner, "_init_sharded_param", init_sharded_param)
    yield Patch(owner, "init_unsharded_param", init_unsharded_param)
    yield Patch(owner, "to_sharded_post_forward", to_sharded_post_forward)


def _of_parameter_group(module: ModuleType) -> Iterator[Patch]:
    owner = module.FSDPParamGroup
    begin = owner.lazy_init

    @functools.wraps(begin)
    def lazy_init(self: Any) -> None:
        first = not self._reset_sharded_params
        begin(self)
        if first:
            _compare_parameters(self)

    yield Patch(owner, "lazy_init", lazy_init)
    yield _handing_on(module.RegisterPostBackwardFunction)


def _compare_parameters(group: Any) -> None:
    """Compare the names before the first all-gather of a group's parameters."""
    parameters = {
        f"the parameter '{param._param_fqn or param._module_info.param_name}'": param.sharded_param
        for param in group.fsdp_params
    }
    ranks.compare_over_mesh(parameters, group.mesh_info.mesh, "sharded")


def _of_data_parallel(module: ModuleType) -> Iterator[Patch]:
    owner = module.DistributedDataParallel
    begin = owner.__init__
    signature = inspect.signature(begin)

    @functools.wraps(begin)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        if given.arguments["init_sync"]:
            _compare_module(self)

    yield Patch(owner, "__init__", init)
    yield _handing_on(module._DDPSink)


def _handing_on(function: Any) -> Patch:
    """The patch of an autograd function that hands its tensors on, after one other argument."""
    original = function.apply

    @functools.wraps(original)
    def apply(first: Any, *tensors: Any) -> Any:
        result = original(first, *tensors)
        name_after(tensors, result)
        return result

    return Patch(function, "apply", staticmethod(apply))


def _compare_module(replica: Any) -> None:
    """Compare the names of a module's parameters and buffers, as DDP does their sizes."""
    tensors = {f"the parameter '{name}'": p for name, p in replica.module.named_parameters()}
    tensors |= {f"the buffer '{name}'": b for name, b in replica.module.named_buffers()}
    device = next(replica.module.parameters()).device
    ranks.compare(tensors, [replica.process_group], device, "replicated")
