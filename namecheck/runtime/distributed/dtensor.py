"""Names on DTensors, compared between ranks where torch sends or compares their data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import torch

from namecheck.runtime.core.patch_table import Patch
from namecheck.runtime.distributed import ranks
from namecheck.runtime.distributed.name_copies import (
    name_after,
    named_after_first,
    wherever_imported,
)

_LABEL: Final = "the tensor"  # how a message calls the tensor that is compared


def patches(module: ModuleType) -> Iterator[Patch]:
    """The patches of ``torch.distributed.tensor``."""
    dtensor = module.DTensor
    yield Patch(dtensor, "from_local", staticmethod(_from_local(dtensor.from_local)))
    yield Patch(dtensor, "to_local", named_after_first(dtensor.to_local))
    yield Patch(dtensor, "redistribute", named_after_first(dtensor.redistribute))
    yield Patch(dtensor, "full_tensor", _full_tensor(dtensor.full_tensor))
    yield Patch(dtensor, "__repr__", _repr(dtensor.__repr__))
    original = module.distribute_tensor
    yield from wherever_imported({original: _distribute_tensor(original, dtensor)})


def _from_local(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def from_local(local_tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = original(local_tensor, *args, **kwargs)
        name_after(local_tensor, result)
        if kwargs.get("run_check"):
            ranks.compare_over_mesh({_LABEL: result}, result.device_mesh, "distributed")
        return result

    return from_local


def _distribute_tensor(original: Callable[..., Any], dtensor: type) -> Callable[..., Any]:
    @functools.wraps(original)
    def distribute_tensor(
        tensor: torch.Tensor, device_mesh: Any = None, placements: Any = None, **kwargs: Any
    ) -> Any:
        mesh = device_mesh or _current_mesh()
        # Without a source rank torch takes the tensor of each rank, and sends nothing.
        if kwargs.get("src_data_rank", 0) is not None and not isinstance(tensor, dtensor):
            ranks.compare_over_mesh({_LABEL: tensor}, mesh, "distributed")
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
            ranks.compare_over_mesh({_LABEL: self}, self.device_mesh, "gathered")
        result = original(self, **kwargs)
        name_after(self, result)
        return result

    return full_tensor


def _repr(original: Callable[..., str]) -> Callable[..., str]:
    """A wrapper of ``repr``, which shows the local tensor: that gets the names first."""

    @functools.wraps(original)
    def show(self: Any, *args: Any, **kwargs: Any) -> str:
        name_after(self, self._local_tensor)
        return original(self, *args, **kwargs)

    return show
