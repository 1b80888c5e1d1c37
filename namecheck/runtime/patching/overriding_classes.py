"""Classes that override torch's functions: each is told of the function that its program knows.

A ``__torch_function__`` often looks up what it is told of in a table. The table of a class that was
there before the shim holds torch's own functions, that of a class that came later what stands in
their places; torch tells of a function the one, of a method the other. So the older classes hear
of the originals whatever they are told of, and a function goes to all of them by our hand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, Final

import torch
from torch.overrides import handle_torch_function, has_torch_function

from namecheck.runtime.core import call_sites
from namecheck.runtime.core.patch_table import TABLE, Patch
from namecheck.runtime.core.tensor_names import ATTRIBUTE, OVERRIDING

HANDLER: Final = "__torch_function__"


def patches() -> Iterator[Patch]:
    """Marks of the tensor classes that override torch's functions, of those to come as well."""
    for kind in _subclasses(torch.Tensor):
        if _overrides(kind):
            yield Patch(kind, ATTRIBUTE, OVERRIDING)
            yield Patch(kind, HANDLER, classmethod(_hearing(kind)))
    yield Patch(torch.Tensor, "__init_subclass__", classmethod(_made))


def _subclasses(kind: Any) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def _overrides(kind: Any) -> bool:
    default: Any = torch.Tensor.__torch_function__
    handler = getattr(getattr(kind, HANDLER), "__func__", None)
    return handler is not None and handler is not default.__func__


def _made(kind: Any, /, **settings: Any) -> None:
    """Mark a class of tensors that has just been made."""
    above: Any = super(torch.Tensor, kind)
    above.__init_subclass__(**settings)
    if _overrides(kind):
        TABLE.apply([Patch(kind, ATTRIBUTE, OVERRIDING)])


def _hearing(kind: Any) -> Callable[..., Any]:
    """A handler that hears of torch's own functions, whatever stands in their places."""
    original = getattr(kind, HANDLER).__func__

    @functools.wraps(original)
    def torch_function(
        kind: type, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return original(kind, _original(func), types, args, kwargs or {})

    return torch_function


def _original(function: Any) -> Any:
    ours = function.__class__ is FunctionType and call_sites.is_ours(function.__code__)
    return getattr(function, "__wrapped__", function) if ours else function


def among(values: Iterable[Any]) -> bool:
    """Whether there are tensors among these values that override torch's functions."""
    for value in values:
        if getattr(value.__class__, ATTRIBUTE, None) is OVERRIDING:
            return True
        if value.__class__ in (list, tuple) and among(value):
            return True
    return False


def named(values: Iterable[Any]) -> bool:
    """Whether any of these values carries names of its own."""
    for value in values:
        if isinstance(getattr(value, ATTRIBUTE, None), tuple):
            return True
        if value.__class__ in (list, tuple) and named(value):
            return True
    return False


def teller(function: Callable[..., Any], values: Sequence[Any]) -> Callable[..., Any] | None:
    """What tells all that overrides torch's functions of a call of this one.

    None where nothing does, as within a handler that calls what it was told of.
    """
    concerned = [value for value in _flat(values) if has_torch_function((value,))]
    if not concerned:
        return None
    return functools.partial(handle_torch_function, function, concerned)


def foreign(values: Iterable[Any]) -> bool:
    """Whether something that is no tensor overrides torch's functions."""
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
