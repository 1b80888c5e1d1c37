"""Writes to expanded tensors, compared with torch: each row, in place and with ``out=``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pytest
import torch

from namecheck.core.tensors import Tensor
from namecheck.operators import Operator, infer, table
from tests.runtime.dtype_samples import Sample, Slot, dims_of, everyday, inferred, samples
from tests.runtime.test_memory_rows import LEFT_OUT, one

SHAPES: Final = ((2, 2), (2,), (3, 3), (2, 2, 2))
# Refused with a tensor, but not with a number; or only of floats, or in training mode.
BY_TENSORS: Final = frozenset(
    {"fill_", "dropout_", "feature_alpha_dropout_", "feature_dropout_", "nan_to_num_"}
)
REFUSED: Final = "more than one element of the written-to tensor refers to a single memory location"


def rows() -> list[Operator]:
    written = [
        row for row in table().values() if set(row.forms) & set("ijo") or is_written(row.key)
    ]
    return [row for row in written if row.key not in LEFT_OUT]


def is_written(key: str) -> bool:
    return key.endswith("_") and not key.endswith("__")


def laid(slot: Slot) -> Tensor:
    return Tensor(dims_of(slot), slot.dtype, memory=slot.memory)


def in_place(row: Operator) -> Iterator[Sample]:
    """Every call in place whose first tensor is expanded."""
    for sample in samples(row, SHAPES, settings=False):
        args = list(sample.args)
        place = next((n for n, value in enumerate(args) if isinstance(value, Slot)), None)
        if (
            is_written(sample.operator)
            and place is not None
            and max(args[place].shape, default=0) > 1
        ):
            args[place] = replace(args[place], source=one)
            yield replace(sample, args=tuple(args))


def into_out(row: Operator) -> Iterator[Sample]:
    """Every call with ``out=``, into an expanded tensor with the shape of its result."""
    for sample in samples(row, SHAPES, settings=False) if "o" in row.forms else ():
        result = sample.run()
        if not is_written(sample.operator) and isinstance(result, torch.Tensor) and result.dim():
            dtype = str(result.dtype).removeprefix("torch.")
            yield replace(
                sample,
                kwargs={**sample.kwargs, "out": Slot(tuple(result.shape), dtype=dtype, source=one)},
            )


def error_of(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except (RuntimeError, TypeError) as error:
        return error
    return None


def faults(row: Operator) -> Iterator[str]:
    for sample in (*in_place(row), *into_out(row)):
        refusal = inferred(sample, laid).contradiction
        real = error_of(sample.run)
        if isinstance(real, TypeError):
            continue
        refused = real is not None and REFUSED in str(real)
        certain = row.effects(0).refuses_overlap or is_written(sample.operator)
        if refusal is None and refused and certain and sample.operator not in BY_TENSORS:
            yield f"{sample.operator}: not refused, torch says {real}"
        if refusal is not None and refusal.code == "NC505" and not refused:
            yield f"{sample.operator}: refused, torch says {real}"


@pytest.mark.parametrize("row", everyday(rows()), ids=lambda row: row.key)
def test_what_is_stretched_is_refused_where_torch_refuses_it(row: Operator) -> None:
    wrong = list(faults(row))
    assert not wrong, "\n".join(wrong)


INDICES: Final[tuple[Any, ...]] = (
    *(0, (0, 1), slice(None), slice(0, 1), (slice(None), 0), (..., 0), (None, 1), ((0, 1), 0)),
    *((..., None), (slice(0, 1), slice(1, None)), (slice(None, None, 2),), [0, 1], ()),
)


@pytest.mark.filterwarnings("ignore:Use of index_put_ on expanded tensors")
@pytest.mark.parametrize("shape", [(1, 3), (3, 1)], ids=["rows", "columns"])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_what_is_assigned_to_a_stretched_tensor(index: Any, shape: tuple[int, int]) -> None:
    known = infer("expand", laid(Slot(shape)), 3, 3).result
    refusal = infer("__setitem__", known, index, 1.0).contradiction
    tensor = torch.zeros(shape).expand(3, 3)
    real = error_of(lambda: tensor.__setitem__(index, 1.0))
    assert (real and str(real)) == (refusal and str(refusal))
