"""Names on the parameters of FSDP2."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from namecheck.runtime.core.patch_table import Patch
from namecheck.runtime.distributed import ranks
from namecheck.runtime.distributed.name_copies import name_after, of_autograd_function


def parameter_patches(module: ModuleType) -> Iterator[Patch]:
    """The patches of ``_fsdp_param``: a parameter is replaced by its shard, or gathered again."""
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


def group_patches(module: ModuleType) -> Iterator[Patch]:
    """The patches of ``_fsdp_param_group``: names are compared before the first all-gather."""
    owner = module.FSDPParamGroup
    begin = owner.lazy_init

    @functools.wraps(begin)
    def lazy_init(self: Any) -> None:
        first = not self._reset_sharded_params
        begin(self)
        if first:
            _compare_parameters(self)

    yield Patch(owner, "lazy_init", lazy_init)
    yield of_autograd_function(module.RegisterPostBackwardFunction)


def _compare_parameters(parameter_group: Any) -> None:
    parameters = {
        f"the parameter '{param._param_fqn or param._module_info.param_name}'": param.sharded_param
        for param in parameter_group.fsdp_params
    }
    ranks.compare_over_mesh(parameters, parameter_group.mesh_info.mesh, "sharded")
