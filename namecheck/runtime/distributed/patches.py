"""The patches of torch.distributed: collectives, DTensor, FSDP1, FSDP2 and DDP.

Ranks send data to each other, but no names: the tensors of each rank keep the names that they have
there, and the shards, whole tensors and wrappers that torch makes of a tensor get its names. Names
are compared between ranks only where torch itself communicates or compares, so that no rank waits
for one that never arrives.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from namecheck.runtime.core.patch_table import Deferred
from namecheck.runtime.distributed import (
    collectives,
    data_parallel,
    dtensor,
    flat_parameters,
    fsdp,
)


def patches() -> Iterator[Deferred]:
    """The patches, each applied once the program imports the module that it changes."""
    if not torch.distributed.is_available():
        return
    fully_shard = "torch.distributed.fsdp._fully_shard"
    yield Deferred("torch.distributed._functional_collectives", collectives.patches)
    yield Deferred("torch.distributed.tensor", dtensor.patches)
    yield Deferred(f"{fully_shard}._fsdp_param", fsdp.parameter_patches)
    yield Deferred(f"{fully_shard}._fsdp_param_group", fsdp.group_patches)
    yield Deferred("torch.distributed.fsdp._flat_param", flat_parameters.patches)
    yield Deferred("torch.nn.parallel.distributed", data_parallel.patches)
