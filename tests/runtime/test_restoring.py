"""Every patched attribute gets its original object back, however a block ends."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
import torch
from torch._functorch import eager_transforms, vmap
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils.data._utils import worker

from namecheck.runtime import runtime
from namecheck.runtime.core.patch_table import TABLE, Patch
from namecheck.runtime.patching import tensor_conversions
from tests.runtime.tensors import named, names

OWNERS: Final = (
    torch,
    torch.Tensor,
    torch.nn.functional,
    torch.special,
    torch.linalg,
    torch.fft,
    torch.nn.Parameter,
    torch.nn.UninitializedParameter,
    torch.masked.MaskedTensor,
    FakeTensorMode,
    eager_transforms,
    forward_ad,
    vmap,
    worker,
)


def attributes() -> list[dict[Any, Any]]:
    """Everything that may be patched, without pickle's entries about a class."""
    reducers: dict[Any, Any] = vars(ForkingPickler)["_extra_reducers"]
    found = [dict(vars(owner)) for owner in OWNERS] + [dict(reducers)]
    for part in found:
        part.pop("__slotnames__", None)
    return found


def same(before: list[dict[Any, Any]], after: list[dict[Any, Any]]) -> bool:
    """Whether these are the same objects under the same names; torch may have imported more."""
    return all(
        all(old.get(key, value) is value for key, value in new.items())
        and all(isinstance(new[key], ModuleType) for key in new.keys() - old.keys())
        and old.keys() <= new.keys()
        for old, new in zip(before, after, strict=True)
    )


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """After each test torch must be restored."""
    assert TABLE.holders == 0
    before = attributes()
    yield
    assert same(before, attributes())
    assert (TABLE.holders, TABLE.applied, TABLE.installed) == (0, False, False)


def test_a_block_that_is_left() -> None:
    before = attributes()
    with runtime():
        assert not same(before, attributes())
        kept = torch.add, torch.Tensor.sum, torch.cat, torch.nn.functional.relu
        tensor = named("N", "C")
    add, total, cat, relu = kept
    plain = torch.ones(2, 3)
    for left, right in ((plain, plain), (tensor, plain), (tensor, tensor)):
        assert torch.equal(add(left, right), left + right)
        assert torch.equal(cat([left, right]), torch.cat([left, right]))
    assert torch.equal(total(tensor, 1), tensor.sum(1))
    assert torch.equal(relu(tensor), tensor)


def test_a_file_can_be_loaded_without_the_names_and_has_them_again(tmp_path: Path) -> None:
    file = tmp_path / "tensor.pt"
    with runtime():
        torch.save(named("N", "C"), file)
    loaded = torch.load(file, weights_only=True)
    assert not hasattr(loaded, "names")
    with runtime():
        assert names(loaded) == ("N", "C")


def test_a_function_that_was_stored_before_is_pickled_where_it_is_its_own_name() -> None:
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, activation=torch.nn.functional.relu)
    with runtime():
        with pytest.raises(pickle.PicklingError, match="not the same object as torch"):
            pickle.dumps(layer)
        made = torch.nn.TransformerEncoderLayer(4, 2, 8, activation=torch.nn.functional.relu)
        pickle.loads(pickle.dumps(made))
    pickle.loads(pickle.dumps(layer))


def test_a_block_that_an_exception_leaves() -> None:
    with pytest.raises(ZeroDivisionError), runtime():
        raise ZeroDivisionError


def test_blocks_that_cross() -> None:
    first, second = runtime(), runtime("record")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert names(named("N", "C").sum(0)) == ("C",)
    second.__exit__(None, None, None)


def test_a_block_that_cannot_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Patch]:
        yield Patch(torch, "add", None)
        raise ZeroDivisionError

    monkeypatch.setattr(TABLE, "prepared", {})
    monkeypatch.setattr(tensor_conversions, "patches", broken)
    with pytest.raises(ZeroDivisionError):
        runtime().__enter__()


def test_a_block_that_cannot_be_put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Patch]:
        yield Patch(torch, "add", None)
        yield Patch(int, "names", None)

    monkeypatch.setattr(TABLE, "prepared", {})
    monkeypatch.setattr(tensor_conversions, "patches", broken)
    with pytest.raises(TypeError, match="immutable type"):
        runtime().__enter__()


def test_semantics_follow_one_another() -> None:
    with runtime(semantics="torch-2.12"), pytest.raises(RuntimeError, match="not yet supported"):
        named("N", "C").reshape(6)
    with runtime(), runtime(semantics="namecheck"):
        assert named("N", "C").reshape(6).shape == (6,)
