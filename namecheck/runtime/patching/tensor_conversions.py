"""Names where torch converts tensors by itself: to parameters, to fake tensors, to one vector.

Operations on the Python object of a tensor (copy, pickle, ``torch.save``, optimizers) keep its
attributes, and so its names, without a patch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils import convert_parameters
from torch.utils import _device

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.name_propagation import copying_names
from namecheck.runtime.core.patch_table import Patch


def patches() -> Iterator[Patch]:
    """The conversions to parameters, to fake tensors and to one vector of all parameters."""
    _fill_factory_cache()
    subclassed = copying_names(torch.Tensor._make_subclass, 1, "data")
    yield Patch(torch.Tensor, "_make_subclass", staticmethod(subclassed))
    yield Patch(
        FakeTensorMode, "from_tensor", copying_names(FakeTensorMode.from_tensor, 1, "tensor")
    )
    to_vector = _dropping_names(convert_parameters.parameters_to_vector)
    for module in (convert_parameters, torch.nn.utils):
        yield Patch(module, "parameters_to_vector", to_vector)


def _dropping_names(original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper whose result has no names: one that a part has is not the name of the others."""

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not torch.compiler.is_compiling():
            tensor_names.set_names(result, None)
        return result

    return wrapper


def _fill_factory_cache() -> None:
    """Let torch cache the set of its factory functions before they are patched.

    ``with torch.device(...)`` and ``set_default_device`` look functions up in that set.
    """
    _device._device_constructors()
