"""Classes with a ``__torch_function__`` of their own, of tensors and of other objects.

A ``__torch_function__`` often looks its ``func`` up in a table, which has torch's original
functions if it was made before the patches, and our wrappers if it was made later; or it compares
it with what torch has now, ``func is torch.add``, our wrappers. torch passes the original for a
function, and mostly the wrapper for a method. So the handlers are patched: they receive the
original if only that is in a table of theirs, and the wrapper otherwise. The classes of tensors are
patched when they are defined, all others before the first call that they may handle.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodWrapperType
from typing import Any, Final, TypeAlias

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function

from namecheck.runtime.core import sequence_slots
from namecheck.runtime.core.patch_table import TABLE, Patch
from namecheck.runtime.core.replacements import original_of, wrapper_of
from namecheck.runtime.core.tensor_names import ATTRIBUTE, OVERRIDING

HANDLER: Final = "__torch_function__"
_ADAPTED: Final = "_namecheck_adapted"
# Py_TPFLAGS_HEAPTYPE: other classes take no attributes. Source: CPython's Include/object.h.
_OF_PYTHON: Final = 1 << 9
_LONGEST: Final = 256
_DEEPEST: Final = 2


def _is_among(values: Sequence[Any], sought: object) -> bool:
    return any(value is sought for value in values[:_LONGEST])


# Where a handler may look a function up, each with its own test: that of a subclass, or an equality
# of what it holds, may do anything.
_TESTS: Final[dict[type, Callable[[Any, Any], bool]]] = {
    dict: dict.__contains__,
    set: set.__contains__,
    frozenset: frozenset.__contains__,
    list: _is_among,
    tuple: _is_among,
}

# What tells whether a table has a function.
_Test: TypeAlias = Callable[[Any], bool]


def patches() -> Iterator[Patch]:
    """Patches that mark and adapt the present overriding classes, and mark future ones."""
    kinds = [kind for kind in _subclasses(torch.Tensor) if _overrides(kind)]
    yield from (Patch(kind, ATTRIBUTE, OVERRIDING) for kind in kinds)
    # Several classes may inherit one handler.
    yield from {id(patch.owner): patch for kind in kinds for patch in _adapting(kind)}.values()
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
        TABLE.apply([Patch(kind, ATTRIBUTE, OVERRIDING), *_adapting(kind)])


def _adapting(kind: Any) -> Iterator[Patch]:
    """The patch of the handler of a class, which it may inherit, unless it is adapted."""
    owner = next((above for above in kind.__mro__ if HANDLER in vars(above)), kind)
    held = vars(owner).get(HANDLER)
    handler = held.__func__ if isinstance(held, classmethod) else held
    if not isinstance(handler, FunctionType) or not owner.__flags__ & _OF_PYTHON:
        return
    if hasattr(handler, _ADAPTED) or owner in (torch.Tensor, TorchFunctionMode):
        return
    adapted = _receiving(handler, owner)
    yield Patch(owner, HANDLER, classmethod(adapted) if handler is not held else adapted)


def _receiving(handler: FunctionType, kind: Any) -> Callable[..., Any]:
    """A handler that is called with the function that its class knows."""
    tables = list(_tables(handler, kind))

    @functools.wraps(handler)
    def torch_function(
        owner: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return handler(owner, _known(func, tables), types, args, kwargs or {})

    setattr(torch_function, _ADAPTED, True)
    return torch_function


def _tables(handler: FunctionType, kind: Any) -> Iterator[_Test]:
    """What a handler may look a function up in: containers that it reads, and those in them."""
    held = [value for above in kind.__mro__ for value in vars(above).values()]
    for cell in handler.__closure__ or ():
        with contextlib.suppress(ValueError):  # a variable that has no value yet
            held.append(cell.cell_contents)
    held += _globals_of(handler, _DEEPEST)
    for value in held:
        yield from _tests_of(value)
        if isinstance(value, dict):
            for part in list(dict.values(value)):
                yield from _tests_of(part)


def _tests_of(value: Any) -> Iterator[_Test]:
    for kind, test in _TESTS.items():
        if issubclass(type(value), kind):
            yield functools.partial(test, value)


def _globals_of(function: FunctionType, depth: int) -> Iterator[Any]:
    """The values of the globals that a function names, and those that these name if functions."""
    for word in function.__code__.co_names:
        value = function.__globals__.get(word)
        yield value
        if depth and isinstance(value, FunctionType) and value is not function:
            yield from _globals_of(value, depth - 1)


def _known(func: Any, tables: Sequence[_Test]) -> Any:
    """What torch has now for a function; its original if only that is in a table."""
    present: Any = func
    if isinstance(func, MethodWrapperType):  # what reads an attribute of a tensor
        original = getattr(original_of(func.__self__), func.__name__, None)
    else:
        present = wrapper_of(func) or func
        original = original_of(present)
    if original is None or any(has(present) for has in tables):
        return present
    return original if any(has(original) for has in tables) else present


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


def overriding_objects(values: Iterable[Any]) -> list[type]:
    """The classes of the values that are no tensors and override torch's functions."""
    kinds = map(type, _flat(values))
    return [k for k in kinds if hasattr(k, HANDLER) and not issubclass(k, torch.Tensor)]


def adapt(overriding: Iterable[Any]) -> None:
    """Adapt the handlers of these classes, if they are not adapted yet."""
    for kind in overriding:
        is_adapted = hasattr(getattr(kind, HANDLER), _ADAPTED)
        if not is_adapted and (adapting := tuple(_adapting(kind))):
            TABLE.apply(adapting)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if value.__class__ in (list, tuple):
            yield from _flat(value)
        else:
            yield value
