"""On a torch with names of its own: ours replace them, and are removed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import namecheck.runtime as runtime
from namecheck.runtime.patching import native_names as native
from tests.runtime.tensors import named, names

pytestmark = pytest.mark.skipif(not native.IS_NATIVE, reason="this torch has no names of its own")
TORCH: Any = torch  # with names, which type checkers do not know
BASE: Any = torch._C.TensorBase


def native_names(tensor: torch.Tensor) -> tuple[str | None, ...]:
    """The names that torch itself has."""
    found: tuple[str | None, ...] = BASE.names.__get__(tensor)
    return found


@pytest.fixture
def shim() -> Iterator[None]:
    with runtime.runtime():
        yield


@pytest.mark.usefixtures("shim")
@pytest.mark.parametrize(
    "make",
    [
        lambda: TORCH.zeros(2, 3, names=("N", "C")),
        lambda: TORCH.tensor([[1.0]], names=("N", "C")),
        lambda: TORCH.zeros(2, 3).refine_names("N", "C"),
        lambda: TORCH.zeros(2, 3).rename("N", "C"),
        lambda: TORCH.zeros(2, 3).rename_("N", "C"),
        lambda: TORCH.zeros(2, 3, 4).flatten(1, 2, "C").rename(None).rename("N", "C"),
        lambda: TORCH.zeros(2, 6).refine_names("N", "F").unflatten("F", [("A", 2), ("B", 3)]),
        lambda: TORCH.zeros(2, 3, names=("N", "C")).align_to("C", "N"),
        lambda: named("N", "C") + 1,
        lambda: TORCH.zeros(2, 3, names=("N", "C")).sum("N"),
    ],
)
def test_torch_itself_knows_of_no_name(make: Any) -> None:
    made = make()
    assert any(names(made))
    assert native_names(made) == (None,) * made.dim()


def test_native_names_are_there_again_afterwards() -> None:
    before: Any = TORCH.zeros(2, 3, names=("N", "C"))
    with runtime.runtime():
        assert names(before) == (None, None)
        before.names = ("A", "B")
        assert names(before) == ("A", "B")
        assert native_names(before) == ("N", "C")
    assert before.names == ("N", "C")
    assert "names" not in vars(torch.Tensor)
    with pytest.raises(RuntimeError, match="Name 'T' not found"):
        before.sum("T")
    assert before.sum("N").names == ("C",)


def test_a_contradiction_is_ours_in_the_words_of_torch() -> None:
    with runtime.runtime():
        left, right = named("N", "C"), named("C", "N", sizes=(2, 3))
        with pytest.raises(runtime.NameMismatch) as ours:
            left + right
    one, other = TORCH.zeros(2, 3, names=("N", "C")), TORCH.zeros(2, 3, names=("C", "N"))
    with pytest.raises(RuntimeError) as native:
        one + other
    assert str(ours.value).splitlines()[0] == str(native.value).splitlines()[0]
