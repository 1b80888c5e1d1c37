"""Every row that tells of dtypes, held against torch: sample calls, over all dtypes and mixed ones.

What torch accepts the rules accept, and tell the dtype of each result, or nothing; what they
refuse torch refuses. No answer is written down here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
import torch

from namecheck.attributes import KINDS
from namecheck.names import UNKNOWN
from namecheck.operators import Inference, Operator, infer, table
from namecheck.values import Constant, Dims, Many, Tensor
from tests.runtime.dtype_samples import DTYPES, Sample, Slot, samples

# Few dtypes stand for all where those of several tensors are mixed.
MIXED: Final = ("float32", "float16", "int64", "bool")
# What cannot be called on a machine like any other, or does not come back.
LEFT_OUT: Final = frozenset({"cuda", "pin_memory", "share_memory_", "apply_", "map_"})


def told() -> list[Operator]:
    rows = [row for row in table().values() if row.dtype or row.needs or row.lacks]
    return [r for r in rows if r.key not in LEFT_OUT and not set(r.forms) & set("pl")]


def variants(sample: Sample) -> Iterator[Sample]:
    """The sample with all tensors of one dtype, and with one tensor of another than the rest."""
    for dtype in DTYPES:
        yield sample.with_dtypes((dtype,))
    count = sample.varied
    for place in range(count) if 1 < count < 4 else ():
        for most in MIXED:
            for other in MIXED:
                if most != other:
                    before, after = (most,) * place, (most,) * (count - place - 1)
                    yield sample.with_dtypes((*before, other, *after))


def lowered(value: Any) -> Any:
    """An argument as `infer` takes it."""
    if isinstance(value, Slot):
        return Tensor(Dims.of(*(None,) * len(value.shape), sizes=value.shape), value.dtype)
    if isinstance(value, (tuple, list)):
        return type(value)(map(lowered, value))
    if isinstance(value, torch.dtype):
        return Constant("dtype", str(value).removeprefix("torch."))
    return value


def answer(sample: Sample) -> Inference:
    kwargs = {key: lowered(value) for key, value in sample.kwargs.items()}
    return infer(sample.operator, *map(lowered, sample.args), **kwargs)


def contradicts(guess: Any, real: Any) -> bool:
    """Whether a dtype that was told is another than that of the tensor."""
    if isinstance(real, torch.Tensor) and isinstance(guess, Tensor):
        name = str(real.dtype).removeprefix("torch.")
        return guess.dtype not in (UNKNOWN, name) and name in KINDS
    if isinstance(real, (tuple, list)) and isinstance(guess, (tuple, list)):
        return any(map(contradicts, guess, real))
    if isinstance(real, (tuple, list)) and isinstance(guess, Many):
        return any(contradicts(guess.each, part) for part in real)
    return False


def faults(row: Operator) -> Iterator[str]:
    for sample in samples(row):
        for variant in variants(sample):
            try:
                real = variant.run()
            except (RuntimeError, TypeError, ValueError, LookupError):
                continue  # whether the rules must refuse it too is asked below
            guess = answer(variant)
            call = f"{variant.operator}{variant.dtypes}"
            if guess.contradiction is not None and guess.contradiction.code.startswith("NC3"):
                yield f"{call}: torch accepts it, refused: {guess.contradiction}"
            elif guess.contradiction is None and contradicts(guess.result, real):
                yield f"{call}: told {guess.result}"


@pytest.mark.parametrize("row", told(), ids=lambda row: row.key)
def test_what_a_row_tells_is_what_torch_does(row: Operator) -> None:
    wrong = list(faults(row))
    assert not wrong, "\n".join(wrong[:10])
