"""Names between processes: data loaders, queues, pipes."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch
from torch import multiprocessing, nn
from torch.utils.data import DataLoader, TensorDataset, default_collate, default_convert

from namecheck.runtime import runtime
from tests import patience
from tests.runtime.datasets import InstallingRows, Rows, Stream, echo
from tests.runtime.tensors import named, names

pytestmark = pytest.mark.usefixtures("shim")

STARTS = ("fork", "spawn")


def loaded(dataset: Any, start: str | None) -> Iterator[Any]:
    """The batches of a loader with one worker, started by this method, or with none."""
    workers = 0 if start is None else 1
    return iter(DataLoader(dataset, 2, num_workers=workers, multiprocessing_context=start))


@pytest.mark.parametrize("start", [None, *STARTS])
def test_batches_of_a_loader(start: str | None) -> None:
    first, second = loaded(Rows(), start)
    assert [names(batch["row"]) for batch in (first, second)] == [(None, "C")] * 2
    assert first["row"].tolist() == [[0.0] * 3, [1.0] * 3]
    assert first["seen"] == ["('C',)"] * 2
    assert names(first["index"]) == (None,)


@pytest.mark.parametrize("start", STARTS)
def test_a_contradiction_in_a_worker(start: str) -> None:
    with pytest.raises(RuntimeError, match="dim 'C' and dim 'K' are at the same position"):
        next(loaded(Rows(contradicts=True), start))


@pytest.mark.parametrize("start", STARTS)
def test_the_mode_goes_with_the_worker(start: str) -> None:
    with runtime("record"):
        batch = next(loaded(Rows(contradicts=True), start))
    assert names(batch["row"]) == (None, "C")
    assert batch["row"].tolist() == [[1.0] * 3, [2.0] * 3]


def test_a_worker_may_have_names_already() -> None:
    with runtime("record"):
        batch = next(loaded(InstallingRows(contradicts=True), "spawn"))
    assert names(batch["row"]) == (None, "C")


@pytest.mark.parametrize("start", [None, "fork"])
def test_rows_of_a_stream(start: str | None) -> None:
    assert names(next(loaded(Stream(), start))) == (None, "C")


def test_batches_of_tensors() -> None:
    rows, labels = next(loaded(TensorDataset(named("N", "C"), named("N")), None))
    assert (names(rows), names(labels)) == ((None, "C"), (None,))


def test_rows_of_different_names_make_a_batch_of_unknown_ones() -> None:
    assert names(default_collate([named("C"), named("K")])) == (None, None)


def test_converting_keeps() -> None:
    convert: Any = default_convert
    assert names(convert({"x": named("N", "C")})["x"]) == ("N", "C")


@pytest.mark.parametrize(
    ("start", "installs", "back"),
    [
        ("fork", False, ("N", "C")),
        ("spawn", True, ("N", "C")),
        ("spawn", False, (None, None)),
    ],
)
def test_a_queue(start: str, installs: bool, back: tuple[str | None, ...]) -> None:
    """A spawned process receives names; it can send names itself after installing them."""
    context: Any = multiprocessing.get_context(start)
    questions, answers = context.Queue(), context.Queue()
    process = context.Process(target=echo, args=(questions, answers), kwargs={"installs": installs})
    process.start()
    sent = [named("N", "C"), nn.Parameter(named("N", "C")), torch.rand(2, 3)]
    questions.put(sent)
    attributes, returned = patience.take(lambda limit: answers.get(timeout=limit), process.pid, 60)
    questions.put(None)
    process.join(60)
    assert attributes == [{"_names": ("N", "C")}] * 2 + [{}]
    assert list(map(type, returned)) == list(map(type, sent))
    assert list(map(names, returned)) == [back, back, (None, None)]
    assert [tensor.tolist() for tensor in returned] == [tensor.tolist() for tensor in sent]


def test_what_is_sent_without_names_is_sent_as_ever() -> None:
    dumps: Any = ForkingPickler.dumps
    assert b"namecheck" not in bytes(dumps(torch.rand(2, 3)))
    assert b"namecheck" in bytes(dumps(named("N", "C")))
