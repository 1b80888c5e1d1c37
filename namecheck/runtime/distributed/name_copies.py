"""Copies the names of a tensor to what torch.distributed makes of it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.patch_table import Patch


def name_after(source: Any, result: Any) -> None:
    """Copy names from `source` to `result`, tensors or sequences of tensors alike."""
    if torch.compiler.is_compiling():
        return
    if isinstance(source, (list, tuple)) and isinstance(result, (list, tuple)):
        for part, result_part in zip(source, result, strict=False):
            name_after(part, result_part)
    elif isinstance(source, torch.Tensor) and isinstance(result, torch.Tensor):
        names = getattr(source, tensor_names.ATTRIBUTE, None)
        if names != getattr(result, tensor_names.ATTRIBUTE, None):
            tensor_names.set_names(result, names)


def named_after_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of a function whose result gets the names of its first argument."""

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        name_after(args[0] if args else next(iter(kwargs.values())), result)
        return result

    return wrapper


def wherever_imported(wrapper_by_original: Mapping[Any, Any]) -> Iterator[Patch]:
    """Patches of every imported module with these functions, ``from ... import`` included."""
    wrapper_by_id = {id(original): new for original, new in wrapper_by_original.items()}
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if id(value) in wrapper_by_id:
                    yield Patch(module, attribute, wrapper_by_id[id(value)])


def of_autograd_function(autograd_function: Any) -> Patch:
    """The patch of an autograd function that returns its tensors, after one other argument."""
    original = autograd_function.apply

    @functools.wraps(original)
    def apply(argument: Any, *args: Any) -> Any:
        result = original(argument, *args)
        name_after(args, result)
        return result

    return Patch(autograd_function, "apply", staticmethod(apply))
