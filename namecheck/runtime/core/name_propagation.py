"""Copies names from a tensor to another one that torch makes of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.tensor_names import Names


def copying_names(original: Callable[..., Any], index: int, keyword: str) -> Callable[..., Any]:
    """A wrapper whose result gets the names of one argument, given by position or keyword."""

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not torch.compiler.is_compiling():
            copy_names(args[index] if len(args) > index else kwargs.get(keyword), result)
        return result

    return wrapper


def copy_names(source: Any, target: Any) -> None:
    """Copy names to a tensor that has none, if both have the same rank."""
    names = names_or_none(source)
    if names is not None and isinstance(target, torch.Tensor) and names_or_none(target) is None:
        with torch._C.DisableTorchFunction():
            if len(names) == target.dim():
                tensor_names.set_names(target, names)


def names_or_none(value: Any) -> Names | None:
    """The names of a value; None if it is no tensor or has none."""
    if not isinstance(value, torch.Tensor):
        return None
    with torch._C.DisableTorchFunction():
        return tensor_names.names_of(value)


def has_label(value: Any) -> bool:
    """Whether a value is a tensor with a name, or with one that is not known."""
    return any(name is not None for name in names_or_none(value) or ())
