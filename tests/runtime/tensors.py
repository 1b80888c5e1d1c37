"""Named tensors for the tests, and their names, for type checkers that know neither."""

from __future__ import annotations

from typing import Any, cast

import torch


def named(*names: str | None, sizes: tuple[int, ...] | None = None) -> torch.Tensor:
    """A random tensor with these names, with sizes 2, 3, 4, …, or the given ones."""
    shape = sizes if sizes is not None else tuple(range(2, 2 + len(names)))
    return called(torch.rand(shape), *names)


def called(tensor: torch.Tensor, *names: str | None) -> torch.Tensor:
    """The tensor itself, after setting these names."""
    cast(Any, tensor).names = names
    return tensor


def names(value: Any) -> tuple[str | None, ...]:
    """The names of a tensor, as a user reads them."""
    assert isinstance(value, torch.Tensor)
    found: tuple[str | None, ...] = cast(Any, value).names
    return found


def backward(loss: torch.Tensor) -> None:
    """Compute the gradients of a loss."""
    cast(Any, loss).backward()
