"""Names survive where torch makes one tensor of another without calling an operator of the table.

Parameters, fake tensors, classes that override torch's functions (`overriding`), function
transforms (`transforms`), processes (`loading`).
What only moves a tensor's Python object (copy, pickle, ``torch.save``, optimizers) needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _device

from namecheck.runtime.core.name_propagation import keeping
from namecheck.runtime.core.patch_table import Patch


def patches() -> Iterator[Patch]:
    """What has to be replaced besides the operators."""
    _let_torch_remember()
    subclassed = keeping(torch.Tensor._make_subclass, 1, "data")
    yield Patch(torch.Tensor, "_make_subclass", staticmethod(subclassed))
    yield Patch(FakeTensorMode, "from_tensor", keeping(FakeTensorMode.from_tensor, 1, "tensor"))


def _let_torch_remember() -> None:
    """Let torch note its own factories, which it knows again by identity, before they change.

    ``with torch.device(...)`` and ``set_default_device`` compare what is called with that note.
    """
    _device._device_constructors()
