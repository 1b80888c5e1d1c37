"""Names between processes: what is sent to another one, and the workers of a ``DataLoader``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.utils.data._utils import worker

from namecheck.core.semantics import Semantics
from namecheck.runtime import modes, tensor_names
from namecheck.runtime.carrying import said_of
from namecheck.runtime.modes import Mode
from namecheck.runtime.patches import TABLE, Patch
from namecheck.runtime.tensor_names import Names


def patches() -> Iterator[Patch]:
    """How torch sends tensors to other processes, and the work of a loader's processes."""
    reducers: dict[type, Callable[[torch.Tensor], Any]] = vars(ForkingPickler)["_extra_reducers"]
    for kind in (torch.Tensor, torch.nn.Parameter):
        yield Patch(reducers, kind, _sending(reducers[kind]))
    yield Patch(worker, "_worker_loop", _Work(worker._worker_loop))


def _sending(original: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    """What is sent in a tensor's place; its names stand before all else."""

    def reduce(tensor: torch.Tensor) -> Any:
        reduced = original(tensor)
        names = said_of(tensor)
        return reduced if names is None else (received, (names, *reduced))

    return reduce


def received(
    names: Names, rebuild: Callable[..., torch.Tensor], arguments: tuple[Any, ...]
) -> torch.Tensor:
    """A tensor that another process has sent, with its names."""
    tensor = rebuild(*arguments)
    tensor_names.give(tensor, names)
    return tensor


class _Work:
    """What a loader's process does.

    A process that is forked is as its parent is; one that is spawned begins anew, and is sent the
    settings of its parent.
    """

    def __init__(self, original: Callable[..., None]) -> None:
        self.original = original

    def __call__(self, *args: Any) -> None:
        self.original(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        entry = modes.innermost()
        mode = entry.mode if entry is not None else TABLE.default
        return functools.partial, (work, mode, TABLE.semantics)


def work(mode: Mode, semantics: Semantics, *args: Any) -> None:
    """The work of a process that was spawned: the names are put on its torch first.

    They are there already where the program puts them there itself, or `namecheck run` did.
    """
    from namecheck.runtime import shim

    if not shim.installed():
        shim.install("error", semantics=semantics)
    TABLE.default = mode
    worker._worker_loop(*args)
