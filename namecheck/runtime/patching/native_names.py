"""On a torch that has names of its own, as 2.12 still did: what there stands in the way of ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import torch
from torch._subclasses.fake_tensor import FakeTensor

from namecheck.runtime.core.patch_table import Patch

IS_NATIVE: Final = hasattr(torch.Tensor, "refine_names")

# Where torch refuses to pickle a tensor that has names.
_REFUSING: Final = ("torch._tensor", "torch.multiprocessing.reductions")
_REFUSAL: Final = "check_serializing_named_tensor"


def patches(names: property) -> Iterator[Patch]:
    """What has to be replaced there; `names` is the property of ours."""
    if not IS_NATIVE:
        return
    if "names" in vars(FakeTensor):
        yield Patch(FakeTensor, "names", names)
    for module in map(sys.modules.get, _REFUSING):
        if module is not None and hasattr(module, _REFUSAL):
            yield Patch(module, _REFUSAL, _pickles)


def _pickles(tensor: torch.Tensor) -> None:
    """Names of ours are a plain attribute, which pickle keeps."""
