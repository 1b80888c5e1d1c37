"""Carrying names from one tensor to another that torch makes of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.tensor_names import Names


def keeping(original: Callable[..., Any], place: int, word: str) -> Callable[..., Any]:
    """A function whose result has the names of its argument at a place, or under a keyword."""

    @functools.wraps(original)
    def keeps(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not torch.compiler.is_compiling():
            carry(args[place] if len(args) > place else kwargs.get(word), result)
        return result

    return keeps


def carry(source: Any, target: Any) -> None:
    """Give a tensor of which nothing was said yet the names of another of its rank."""
    names = said_of(source)
    if names is not None and isinstance(target, torch.Tensor) and said_of(target) is None:
        with torch._C.DisableTorchFunction():
            if len(names) == target.dim():
                tensor_names.give(target, names)


def said_of(value: Any) -> Names | None:
    """The names that a value carries, None where it is no tensor or has none."""
    if not isinstance(value, torch.Tensor):
        return None
    with torch._C.DisableTorchFunction():
        return tensor_names.names_of(value)
