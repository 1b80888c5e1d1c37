"""What a program that is being checked may import: `reveal_names`."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def reveal_names(tensor: T) -> T:
    """Print the names and sizes of a tensor, and return it unchanged.

    In source, `namecheck check` answers it with a note (NC090) of the dims that it has inferred.
    The two are written alike: ``N=2 C=3``, where ``_`` stands for a dimension without a name.
    """
    shape = tuple(getattr(tensor, "shape", ()))
    names = getattr(tensor, "names", None) or (None,) * len(shape)
    words = [f"{name or '_'}={size}" for name, size in zip(names, shape, strict=True)]
    print("revealed:", *words)
    return tensor
