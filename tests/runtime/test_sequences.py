"""To C code tensors are no sequences, with the shim or without it: torch.tensor reads them so."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import nn

from namecheck.runtime import runtime
from namecheck.runtime.core.patch_table import Patch, PatchTable
from tests.runtime.tensors import called

SCALAR: Final = torch.tensor(2.0)


class Older(torch.Tensor):
    """A class from before the shim."""


class Indexed(torch.Tensor):
    """A class with items of its own, which make it a sequence."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index)


def is_sequence(value: Any) -> bool:
    check = ctypes.pythonapi.PySequence_Check
    check.argtypes = [ctypes.py_object]
    return bool(check(value))


def sequences() -> list[bool]:
    """Whether a tensor of each class is a sequence."""

    class Newer(torch.Tensor):
        pass

    class NewerIndexed(Newer):
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index)

    kinds = (Older, Indexed, Newer, NewerIndexed)
    tensors = [SCALAR, nn.Parameter(SCALAR), *(SCALAR.as_subclass(kind) for kind in kinds)]
    return [is_sequence(tensor) for tensor in tensors]


def test_the_shim_makes_no_sequences() -> None:
    before = sequences()
    assert before == [False, False, False, True, False, True]
    for _ in range(2):
        with runtime():
            assert sequences() == before
        assert sequences() == before


class Plain:
    """A class without items."""


def test_a_class_is_no_sequence_after_its_patch() -> None:
    """Python itself makes it one: without that, all of this could be removed."""

    class Below(Plain):
        pass

    setattr(Plain, "__getitem__", lambda self, index: index)  # noqa: B010
    assert [is_sequence(kind()) for kind in (Plain, Below)] == [True, True]
    delattr(Plain, "__getitem__")
    table = PatchTable()
    table.apply([Patch(Plain, "__getitem__", lambda self, index: index)])
    value: Any = Below()
    assert value[3] == 3
    assert [is_sequence(kind()) for kind in (Plain, Below)] == [False, False]
    table.restore()
    assert [is_sequence(kind()) for kind in (Plain, Below)] == [False, False]


MAKERS: Final[dict[str, Callable[[Any], torch.Tensor]]] = {
    "tensor": lambda data: torch.tensor(data),
    "as_tensor": lambda data: torch.as_tensor(data),
    "asarray": lambda data: torch.asarray(data),
    "new_tensor": lambda data: torch.ones(1).new_tensor(data),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_tensor_of_scalars(maker: str) -> None:
    make = MAKERS[maker]
    for element in (SCALAR, SCALAR.reshape(1), nn.Parameter(SCALAR)):
        with runtime():
            torch.testing.assert_close(make([element, element]), torch.tensor([2.0, 2.0]))
            assert make([[element]]).shape == (1, 1)
        assert make([element, element]).shape == (2,)


def test_scalars_of_a_named_tensor() -> None:
    with runtime():
        total = called(torch.ones(2, 3), "N", "C").sum()
        assert torch.tensor([total, total]).tolist() == [6.0, 6.0]
