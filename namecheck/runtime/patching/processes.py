"""Names between processes: tensors that are sent, and the workers of a ``DataLoader``."""

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
from namecheck.runtime.core.name_propagation import names_or_none
from namecheck.runtime.core.patch_table import TABLE, Patch
from namecheck.runtime.core.tensor_names import Names
from namecheck.runtime.patching import stored_names

# Puts the patches in force in a process, in a mode and a semantics; pickled by its name.
Entrance: TypeAlias = Callable[[Mode, Semantics], None]


def patches(enter: Entrance, semantics: Semantics) -> Iterator[Patch]:
    """How torch sends tensors to other processes, and the loop of a ``DataLoader``'s workers.

    A spawned worker calls `enter` with the mode and the semantics of its parent.
    """
    wrap = stored_names.refusing_names if semantics is Semantics.NATIVE else _with_names
    reducers: dict[type, Callable[[torch.Tensor], Any]] = vars(ForkingPickler)["_extra_reducers"]
    for kind in (torch.Tensor, torch.nn.Parameter):
        yield Patch(reducers, kind, wrap(reducers[kind]))
    yield Patch(worker, "_worker_loop", _WorkerLoop(worker._worker_loop, enter))


def _with_names(original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of a reducer of torch, which pickles the names before all else."""

    def reduce(tensor: torch.Tensor) -> Any:
        reduced = original(tensor)
        names = names_or_none(tensor)
        return reduced if names is None else (rebuild_named, (names, *reduced))

    return reduce


def rebuild_named(
    names: Names, rebuild: Callable[..., torch.Tensor], args: tuple[Any, ...]
) -> torch.Tensor:
    """Rebuild a tensor that another process sent, with its names."""
    tensor = rebuild(*args)
    tensor_names.set_names(tensor, names)
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
