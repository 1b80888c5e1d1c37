"""Calls that may go deep: a higher recursion limit, and room for the frames of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final, TypeVar

Result = TypeVar("Result")

_RECURSION_LIMIT: Final = 12_000
# In values of 8 bytes.
_ROOM: Final = 1 << 17


def deeply(computation: Callable[[], Result]) -> Result:
    """Run a computation that may nest calls 12,000 deep.

    CPython allocates memory for frames in chunks of 16 KiB, and frees each chunk when it is empty.
    If the depth of the stack varies around the end of a chunk, every call allocates and frees one:
    up to a fifth of the time of an analysis. A frame that claims to need 1 MiB gets a chunk of that
    size, and the frames of the calls within it fit in the rest.
    """
    with _higher_limit():
        result: Result = _ROOMY(computation)
        return result


def _called(computation: Callable[[], Any]) -> Any:
    return computation()


_ROOMY: Final = FunctionType(_called.__code__.replace(co_stacksize=_ROOM), {})


@contextmanager
def _higher_limit() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
