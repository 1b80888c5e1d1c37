"""First-class dims (``functorch.dim``): a dim is an object there, which binds a dim of a tensor.

A tensor with bound dims is no ``torch.Tensor`` and has no place for names, so an operation that
would lose the names of a tensor is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import torch

from namecheck.core.names import Contradiction
from namecheck.runtime.core import reporting
from namecheck.runtime.core.patch_table import TABLE, Deferred, Patch
from namecheck.runtime.patching.overriding_classes import HANDLER, any_named

_FALLBACK: Final = "_torch_function_fallback"
_MESSAGE: Final = "A tensor with bound dims (functorch.dim) has no names."
_HELP: Final = "Drop the names with `rename(None)` first, and name the result of `order`."


def patches() -> Iterator[Deferred]:
    """The patches, applied once the program imports the module."""
    yield Deferred("functorch.dim", _patches)


def _patches(module: ModuleType) -> Iterator[Patch]:
    """The handlers of all operations with first-class dims, and the one that is no operator."""
    bound = vars(module)["_Tensor"]
    for name in TABLE.added_to(torch.Tensor).intersection(vars(bound)):
        delattr(bound, name)  # taken over from torch's tensors at the import; it would do nothing
    handler = _refusing_names(getattr(bound, HANDLER).__func__, 3)
    fallback = _refusing_names(getattr(bound, _FALLBACK), 2)
    yield Patch(bound, HANDLER, classmethod(handler))
    yield Patch(bound, _FALLBACK, staticmethod(fallback))
    yield Patch(module, "index", _refusing_names(module.index, 0))
    for name in ("stack", "split"):
        yield Patch(module, name, _refusing_with_dims(getattr(module, name), module.Dim))


def _refusing_with_dims(original: Callable[..., Any], dim_class: type) -> Callable[..., Any]:
    """A wrapper of a function that binds no dim if it is given indices and sizes alone."""
    refusing = _refusing_names(original, 0)

    def binds(value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return any(map(binds, value))
        return isinstance(value, dim_class)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        settings = (*args[1:], *kwargs.values())
        return (refusing if any(map(binds, settings)) else original)(*args, **kwargs)

    return wrapper


def _refusing_names(original: Callable[..., Any], place: int) -> Callable[..., Any]:
    """A wrapper that looks for names in the argument at an index, and in the keyword arguments."""

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        values = [*args[place : place + 1], *kwargs.values()]
        if any_named(values):
            refused = Contradiction("NC120", _MESSAGE, help=_HELP)
            reporting.handle(reporting.finding_of(refused, values), TABLE.default)
        return original(*args, **kwargs)

    return wrapper
