"""Patches for a torch with names of its own (2.12 and earlier), which conflict with ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import torch
from torch._subclasses.fake_tensor import FakeTensor

from namecheck.runtime.core.patch_table import Patch

IS_NATIVE: Final = hasattr(torch.Tensor, "refine_names")

# The modules in which torch refuses to pickle a named tensor.
_REFUSING: Final = ("torch._tensor", "torch.multiprocessing.reductions")
_REFUSAL: Final = "check_serializing_named_tensor"


def patches(names_property: property) -> Iterator[Patch]:
    """The patches, none for a torch without names. `names_property` is our ``Tensor.names``."""
    if not IS_NATIVE:
        return
    if "names" in vars(FakeTensor):
        yield Patch(FakeTensor, "names", names_property)
    for module in map(sys.modules.get, _REFUSING):
        if module is not None and hasattr(module, _REFUSAL):
            yield Patch(module, _REFUSAL, _accept)


def _accept(tensor: torch.Tensor) -> None:
    """Refuse nothing: our names are a plain attribute, which pickle keeps."""
