"""What stands in a module for a builtin function of torch where no gate does.

A function in Python binds its receiver where a class has it as an attribute, a builtin function
does not: ``class Net(nn.Module): act = torch.relu``. So the wrapper of a builtin is called by an
object that everywhere but in `type()` is the wrapper, except that it binds nothing, and equals the
builtin: a table of functions that was made before the patches has it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


def of(wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """The object in front of a wrapper."""
    # Its class has the wrapper itself, which is called as fast as a method then. What torch.compile
    # reads before each call is an attribute as well.
    attributes = {
        "__slots__": (),
        "__call__": staticmethod(wrapper),
        "__doc__": wrapper.__doc__,
        "__module__": wrapper.__module__,
        "__name__": wrapper.__name__,
        "__wrapped__": getattr(wrapper, "__wrapped__", None),
    }
    stand_in: Callable[..., Any] = type("StandIn", (_StandIn,), attributes)(wrapper)
    return stand_in


class _StandIn:
    """Has the attributes of a wrapper; it is pickled and copied by its name, as a function is."""

    __slots__ = ("__weakref__", "_wrapper")

    def __init__(self, wrapper: Callable[..., Any]) -> None:
        object.__setattr__(self, "_wrapper", wrapper)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return FunctionType

    def __getattr__(self, name: str) -> Any:
        if name == "__get__":
            raise AttributeError(f"'{self.__name__}' binds no receiver")
        return getattr(self._wrapper, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._wrapper, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._wrapper, name)

    def __eq__(self, other: object) -> bool:
        return self is other or self._wrapper.__wrapped__ is other

    def __hash__(self) -> int:
        return hash(self._wrapper.__wrapped__)

    def __reduce_ex__(self, protocol: object) -> str:
        qualified: str = self._wrapper.__qualname__
        return qualified

    def __repr__(self) -> str:
        return f"<function {self._wrapper.__qualname__} at {id(self):#x}>"
