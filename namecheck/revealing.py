"""`reveal_names`, which a checked program may import."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def reveal_names(tensor: T) -> T:
    """Print the names and sizes of a tensor, and return it unchanged.

    `namecheck check` reports the inferred dims at the call as a note (NC090), in the same form:
    ``N=2 C=3``, where ``_`` stands for a dimension without a name.
    """
    shape = tuple(getattr(tensor, "shape", ()))
    names = getattr(tensor, "names", None) or (None,) * len(shape)
    words = [f"{name or '_'}={size}" for name, size in zip(names, shape, strict=True)]
    print("revealed:", *words)
    return tensor
