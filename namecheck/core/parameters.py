"""The parameters of a function of Python, read from its code.

`inspect` tells the same, but importing it takes longer than reading the parameters of all rules
that a program needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from namecheck.core.dataclasses import dataclass


class Required:
    """The type whose name is the default of a parameter that has none: it survives a copy."""


REQUIRED: Final[Any] = Required

# The flag of a code object whose function takes any number of arguments by position.
_VARIADIC: Final = 4


@dataclass(frozen=True, slots=True)
class Declared:
    """One parameter; `type_text` is its annotation, empty where it has none."""

    name: str
    type_text: str
    default: Any
    is_keyword: bool = False
    is_variadic: bool = False


def declared(python_function: Callable[..., Any]) -> tuple[Declared, ...]:
    """The parameters of a function in order, but those behind ``**``."""
    signature = getattr(python_function, "__signature__", None)
    if signature is not None:
        return tuple(map(_of_signature, signature.parameters.values()))
    written = unwrapped(python_function)
    code, annotations = written.__code__, written.__annotations__
    names, count = code.co_varnames, code.co_argcount
    stop = count + code.co_kwonlyargcount
    defaults = (REQUIRED,) * (count - len(written.__defaults__ or ())) + (
        written.__defaults__ or ()
    )
    by_keyword = written.__kwdefaults__ or {}
    found = [
        Declared(name, str(annotations.get(name, "")), default)
        for name, default in zip(names[:count], defaults, strict=True)
    ]
    if code.co_flags & _VARIADIC:
        name = names[stop]
        found.append(Declared(name, str(annotations.get(name, "")), REQUIRED, is_variadic=True))
    for name in names[count:stop]:
        default = by_keyword.get(name, REQUIRED)
        found.append(Declared(name, str(annotations.get(name, "")), default, is_keyword=True))
    return tuple(found)


def unwrapped(python_function: Callable[..., Any]) -> Any:
    """The function under its decorators."""
    while hasattr(python_function, "__wrapped__"):
        python_function = python_function.__wrapped__
    return python_function


def _of_signature(signed: Any) -> Declared:
    """A parameter of a signature that a decorator has set, which is one of `inspect`."""
    kind = signed.kind.name
    return Declared(
        signed.name,
        "" if signed.annotation is signed.empty else str(signed.annotation),
        REQUIRED if signed.default is signed.empty else signed.default,
        kind == "KEYWORD_ONLY",
        kind == "VAR_POSITIONAL",
    )
