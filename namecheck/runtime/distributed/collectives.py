"""Names on the results of functional collectives."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Final

from namecheck.runtime.core.patch_table import Patch
from namecheck.runtime.distributed.name_copies import named_after_first, wherever_imported

# Each returns a tensor with the dims of its first argument, or a list of such tensors.
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


def patches(module: ModuleType) -> Iterator[Patch]:
    """The patches of ``torch.distributed._functional_collectives``."""
    functions = [vars(module)[name] for name in _COLLECTIVES if name in vars(module)]
    yield from wherever_imported({function: named_after_first(function) for function in functions})
    pending = module.AsyncCollectiveTensor
    yield Patch(pending, "wait", named_after_first(pending.wait))
    yield Patch(pending, "trigger_wait", named_after_first(pending.trigger_wait))
