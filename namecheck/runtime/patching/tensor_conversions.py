"""Keeps names where torch converts tensors without an operator: parameters and fake tensors.

Operations on the Python object of a tensor (copy, pickle, ``torch.save``, optimizers) keep its
attributes, and so its names, without a patch.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _device

from namecheck.runtime.core.name_propagation import copying_names
from namecheck.runtime.core.patch_table import Patch


def patches() -> Iterator[Patch]:
    """The conversions to parameters and to fake tensors."""
    _fill_factory_cache()
    subclassed = copying_names(torch.Tensor._make_subclass, 1, "data")
    yield Patch(torch.Tensor, "_make_subclass", staticmethod(subclassed))
    yield Patch(
        FakeTensorMode, "from_tensor", copying_names(FakeTensorMode.from_tensor, 1, "tensor")
    )


def _fill_factory_cache() -> None:
    """Let torch cache the set of its factory functions before they are patched.

    ``with torch.device(...)`` and ``set_default_device`` look functions up in that set.
    """
    _device._device_constructors()
