"""Objects that the tests send to other processes: a spawned process imports them from here."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch.utils.data import Dataset, IterableDataset

from namecheck.runtime import install
from tests.runtime.tensors import called, names


class Rows(Dataset[Any]):
    """Rows that a worker names itself; some contradict each other."""

    def __init__(self, *, contradicts: bool = False) -> None:
        self.contradicts = contradicts
        self.weight = called(torch.ones(3), "C")

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        row: torch.Tensor = cast(Any, torch).full((3,), float(index), names=("C",))
        if self.contradicts:
            row = row + called(torch.ones(3), "K")
        return {"row": row * self.weight, "index": index, "seen": str(names(self.weight))}


class InstallingRows(Rows):
    """The same rows; a process that receives them installs names on torch, as a script would."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        install()


class Stream(IterableDataset[Any]):
    """The same rows, one after the other."""

    def __iter__(self) -> Any:
        return (Rows()[index]["row"] for index in range(4))


def echo(received: Any, answers: Any, *, installs: bool) -> None:
    """Answer tensors with their attributes and with themselves."""
    tensors = received.get()
    if installs:
        install()
    answers.put(([vars(tensor) for tensor in tensors], tensors))
    received.get()
