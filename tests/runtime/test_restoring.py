"""What was replaced is put back, each original itself, however a block ends."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

import pytest
import torch
from torch._functorch import eager_transforms, vmap
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils.data._utils import worker

from namecheck.runtime import runtime, survival
from namecheck.runtime.patches import TABLE, Patch
from tests.runtime.tensors import named, names

OWNERS: Final = (
    torch,
    torch.Tensor,
    torch.nn.functional,
    torch.special,
    torch.linalg,
    torch.fft,
    torch.nn.Parameter,
    FakeTensorMode,
    eager_transforms,
    forward_ad,
    vmap,
    worker,
)


def attributes() -> list[dict[Any, Any]]:
    """Everything that may be replaced."""
    reducers: dict[Any, Any] = vars(ForkingPickler)["_extra_reducers"]
    return [dict(vars(owner)) for owner in OWNERS] + [dict(reducers)]


def same(before: list[dict[Any, Any]], after: list[dict[Any, Any]]) -> bool:
    """Whether these are the same objects under the same names."""
    return all(
        old.keys() == new.keys() and all(old[key] is new[key] for key in old)
        for old, new in zip(before, after, strict=True)
    )


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Whatever a test does, torch is itself afterwards."""
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

    monkeypatch.setattr(TABLE, "made", {})
    monkeypatch.setattr(survival, "patches", broken)
    with pytest.raises(ZeroDivisionError):
        runtime().__enter__()


def test_a_block_that_cannot_be_put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Patch]:
        yield Patch(torch, "add", None)
        yield Patch(int, "names", None)

    monkeypatch.setattr(TABLE, "made", {})
    monkeypatch.setattr(survival, "patches", broken)
    with pytest.raises(TypeError, match="immutable type"):
        runtime().__enter__()


def test_semantics_follow_one_another() -> None:
    with runtime(semantics="torch-2.12"), pytest.raises(RuntimeError, match="not yet supported"):
        named("N", "C").reshape(6)
    with runtime(), runtime(semantics="namecheck"):
        assert named("N", "C").reshape(6).shape == (6,)
