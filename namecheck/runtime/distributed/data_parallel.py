"""Names on the parameters and buffers of DistributedDataParallel."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from namecheck.runtime.core.patch_table import Patch
from namecheck.runtime.distributed import ranks
from namecheck.runtime.distributed.name_copies import of_autograd_function


def patches(module: ModuleType) -> Iterator[Patch]:
    """The patches of ``torch.nn.parallel.distributed``."""
    owner = module.DistributedDataParallel
    begin = owner.__init__
    signature = inspect.signature(begin)

    @functools.wraps(begin)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        if bound.arguments["init_sync"]:
            _compare_module(self)

    yield Patch(owner, "__init__", init)
    yield of_autograd_function(module._DDPSink)


def _compare_module(replica: Any) -> None:
    """Compare the names of the parameters and buffers, as DDP compares their sizes."""
    tensors = {f"the parameter '{name}'": p for name, p in replica.module.named_parameters()}
    tensors |= {f"the buffer '{name}'": b for name, b in replica.module.named_buffers()}
    device = next(replica.module.parameters()).device
    ranks.compare(tensors, [replica.process_group], device, "replicated")
