"""Tensor classes with a ``__torch_function__`` of their own.

A ``__torch_function__`` often looks its ``func`` up in a table. A class that was defined before
the patches has torch's original functions in that table, a later class has our wrappers. torch
passes the original for a function, and the wrapper for a method. So the handlers of older classes
are patched to receive the original in every case, and we dispatch functions ourselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, Final

import torch
from torch.overrides import handle_torch_function, has_torch_function

from namecheck.runtime.core import call_sites, sequence_slots
from namecheck.runtime.core.patch_table import TABLE, Patch
from namecheck.runtime.core.tensor_names import ATTRIBUTE, OVERRIDING

HANDLER: Final = "__torch_function__"


def patches() -> Iterator[Patch]:
    """Patches that mark and adapt the present overriding classes, and mark future ones."""
    for kind in _subclasses(torch.Tensor):
        if _overrides(kind):
            yield Patch(kind, ATTRIBUTE, OVERRIDING)
            yield Patch(kind, HANDLER, classmethod(_receiving_originals(kind)))
    yield Patch(torch.Tensor, "__init_subclass__", classmethod(_init_subclass))


def _subclasses(kind: Any) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def _overrides(kind: Any) -> bool:
    default: Any = torch.Tensor.__torch_function__
    handler = getattr(getattr(kind, HANDLER), "__func__", None)
    return handler is not None and handler is not default.__func__


def _init_subclass(kind: Any, /, **settings: Any) -> None:
    """Mark a new tensor class if it overrides torch's functions; to C code it is no sequence."""
    parent: Any = super(torch.Tensor, kind)
    parent.__init_subclass__(**settings)
    sequence_slots.empty_as_in(kind, torch.Tensor)
    if _overrides(kind):
        TABLE.apply([Patch(kind, ATTRIBUTE, OVERRIDING)])


def _receiving_originals(kind: Any) -> Callable[..., Any]:
    """The handler of a class, called with the original function instead of our wrapper."""
    original = getattr(kind, HANDLER).__func__

    @functools.wraps(original)
    def torch_function(kind: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return original(kind, _original(func), types, args, kwargs or {})

    return torch_function


def _original(func: Any) -> Any:
    is_wrapper = func.__class__ is FunctionType and call_sites.is_ours(func.__code__)
    return getattr(func, "__wrapped__", func) if is_wrapper else func


def any_overriding(values: Iterable[Any]) -> bool:
    """Whether any value is, or contains, a tensor of an overriding class."""
    for value in values:
        if getattr(value.__class__, ATTRIBUTE, None) is OVERRIDING:
            return True
        if value.__class__ in (list, tuple) and any_overriding(value):
            return True
    return False


def any_named(values: Iterable[Any]) -> bool:
    """Whether any value is, or contains, a tensor with names."""
    for value in values:
        if isinstance(getattr(value, ATTRIBUTE, None), tuple) and isinstance(value, torch.Tensor):
            return True
        if value.__class__ in (list, tuple) and any_named(value):
            return True
    return False


def dispatcher(func: Any, values: Sequence[Any]) -> Callable[..., Any] | None:
    """A callable that passes a call of `func` to the handlers of the overriding values.

    None if no value overrides at present, as inside of a handler that calls `func` itself.
    """
    overriding = [value for value in _flat(values) if has_torch_function((value,))]
    if not overriding:
        return None
    return functools.partial(handle_torch_function, func, overriding)


def any_overriding_object(values: Iterable[Any]) -> bool:
    """Whether a value that is no tensor overrides torch's functions."""
    return any(
        hasattr(value.__class__, HANDLER) and not isinstance(value, torch.Tensor)
        for value in _flat(values)
    )


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if value.__class__ in (list, tuple):
            yield from _flat(value)
        else:
            yield value
