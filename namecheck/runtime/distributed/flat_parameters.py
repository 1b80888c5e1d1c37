"""Names on the parameters of FSDP1 (``FullyShardedDataParallel``).

It flattens the parameters of a module into one vector, of which each rank has a shard. Before the
forward it makes the parameters views of the whole vector: these get the names that the parameters
had when they were flattened.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.name_propagation import copy_names, names_or_none
from namecheck.runtime.core.patch_table import Patch

_NAMES: Final = "_names_of_parameters"


def patches(module: ModuleType) -> Iterator[Patch]:
    """The patches of ``torch.distributed.fsdp._flat_param``."""
    owner = module.FlatParamHandle
    flatten, use_views = owner._init_flat_param_and_metadata, owner._use_unsharded_views

    @functools.wraps(flatten)
    def init_flat_param_and_metadata(self: Any, *args: Any, **kwargs: Any) -> None:
        flatten(self, *args, **kwargs)
        names = [names_or_none(getattr(owner, name)) for owner, name in _places(self)]
        setattr(self, _NAMES, names)
        # The name that all its parts could share is not the name of the vector, nor of other parts.
        tensor_names.set_names(self.flat_param, None)

    @functools.wraps(use_views)
    def use_unsharded_views(self: Any, as_params: bool) -> None:
        use_views(self, as_params)
        for (owner, name), names in zip(_places(self), getattr(self, _NAMES, ()), strict=False):
            view = getattr(owner, name)
            if names is not None and len(names) == view.dim():
                tensor_names.set_names(view, names)
        for name, owner, _, primary_name, primary, _ in self.flat_param._shared_param_infos:
            copy_names(getattr(primary, primary_name), getattr(owner, name))

    yield Patch(owner, "_init_flat_param_and_metadata", init_flat_param_and_metadata)
    yield Patch(owner, "_use_unsharded_views", use_unsharded_views)


def _places(handle: Any) -> list[tuple[Any, str]]:
    """The module and the attribute of each parameter that is in the vector."""
    return [(module, name) for name, module, _ in handle.flat_param._param_infos]
