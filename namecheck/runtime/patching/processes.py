"""Names between processes: what is sent to another one, and the workers of a ``DataLoader``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeAlias

import torch
from torch.utils.data._utils import worker

from namecheck.core.semantics import Semantics
from namecheck.runtime.core import modes, tensor_names
from namecheck.runtime.core.modes import Mode
from namecheck.runtime.core.name_propagation import said_of
from namecheck.runtime.core.patch_table import TABLE, Patch
from namecheck.runtime.core.tensor_names import Names

# Puts the patches in force in a process, in a mode and a semantics; pickled by its name.
Entrance: TypeAlias = Callable[[Mode, Semantics], None]


def patches(enter: Entrance) -> Iterator[Patch]:
    """How torch sends tensors to other processes, and the loop of a ``DataLoader``'s workers.

    A spawned worker calls `enter` with the mode and the semantics of its parent.
    """
    reducers: dict[type, Callable[[torch.Tensor], Any]] = vars(ForkingPickler)["_extra_reducers"]
    for kind in (torch.Tensor, torch.nn.Parameter):
        yield Patch(reducers, kind, _sending(reducers[kind]))
    yield Patch(worker, "_worker_loop", _WorkerLoop(worker._worker_loop, enter))


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


class _WorkerLoop:
    """The function that a worker process of a ``DataLoader`` runs.

    A forked process has the patches of its parent. A spawned one starts without them: pickling
    this object sends it the mode and the semantics of its parent.
    """

    def __init__(self, original: Callable[..., None], enter: Entrance) -> None:
        self.original = original
        self.enter = enter

    def __call__(self, *args: Any) -> None:
        self.original(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        entry = modes.innermost()
        mode = entry.mode if entry is not None else TABLE.default
        return functools.partial, (work, self.enter, mode, TABLE.semantics)


def work(enter: Entrance, mode: Mode, semantics: Semantics, *args: Any) -> None:
    """What a spawned worker runs: torch is patched before the worker's loop starts."""
    enter(mode, semantics)
    worker._worker_loop(*args)
