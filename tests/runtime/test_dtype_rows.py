"""Every row that tells of dtypes, held against torch: sample calls, over all dtypes and mixed ones.

What torch accepts the rules accept, and tell the dtype of each result, or nothing; what they
refuse torch refuses. What torch refuses they refuse, but for what `PASSED` tells of. No answer is
written down here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
import torch

from namecheck.attributes import KINDS
from namecheck.names import UNKNOWN
from namecheck.operators import Inference, Operator, table
from namecheck.values import Many, Tensor
from tests.runtime.dtype_samples import DTYPES, Sample, dims_of, everyday, inferred, samples

# Few dtypes stand for all where those of several tensors are mixed.
MIXED: Final = ("float32", "float16", "int64", "bool")
# What cannot be called on a machine like any other, or does not come back.
LEFT_OUT: Final = frozenset({"cuda", "pin_memory", "share_memory_", "apply_", "map_"})

# Rows of which no call can be tried: torch has no names, a layer is made of another one, or only
# sparse tensors are taken.
UNTRIED: Final = frozenset(
    {
        *("align_as", "align_to", "refine_names", "rename", "__deepcopy__", "as_subclass"),
        *("nn.TransformerDecoder", "nn.TransformerEncoder", "coalesce"),
        *("values", "indices", "crow_indices", "col_indices", "ccol_indices", "row_indices"),
        "sparse_compressed_tensor",
    }
)


class Passed(NamedTuple):
    """What torch refuses for dtypes and the rules pass: its words, why, and a row that does so."""

    words: str
    reason: str
    row: str


PASSED: Final = (
    Passed(
        r"not (yet )?implemented for|Unsupported (dtype|input type)|(not|n't|No) support"
        r"|[Oo]nly support|supports? (only|floating)|handles? (only|types)",
        "which kernels there are differs between devices and versions; told where a mistake is "
        "likely, in `lacks`",
        "abs",
    ),
    Passed(
        r"same dtype|mixed dtype|dtypes?, yet|scalar type \w+ but|does not match",
        "the operands must be of one dtype, in words that tell of the way the operator is made of "
        "others; told of products, solvers, convolutions and indices",
        "einsum",
    ),
    Passed(
        r"Subtraction|Negation|mean\(\)|norm\(\)|can't be cast|Integer division|unsigned type",
        "an operator that torch makes of others fails in one of these, if it comes to it",
        "dist",
    ),
    Passed(
        r"Expected|expected|expects|must be|should be",
        "an argument of a rare operator must be of one kind; told where a mistake is likely, in "
        "`needs`",
        "quantile",
    ),
)


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


def answer(sample: Sample) -> Inference:
    return inferred(sample, lambda slot: Tensor(dims_of(slot), slot.dtype))


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
    """What the rules tell of the calls of a row and torch does not, and the other way round."""
    accepted = 0
    for variant in (each for sample in samples(row) for each in variants(sample)):
        guess, call = answer(variant), f"{variant.operator}{variant.dtypes}"
        refused = guess.contradiction is not None
        try:
            real = variant.run()
        except (RuntimeError, TypeError, ValueError, LookupError) as error:
            if not refused and reason_of(error) is None:
                yield f"{call}: torch refuses it, passed: {error}"
            continue
        accepted += 1
        if guess.contradiction is not None and guess.contradiction.code.startswith("NC3"):
            yield f"{call}: torch accepts it, refused: {guess.contradiction}"
        elif not refused and contradicts(guess.result, real):
            yield f"{call}: told {guess.result}"
    if bool(accepted) == (row.key in UNTRIED):
        yield f"{row.key}: torch accepts {accepted} calls"


def reason_of(error: Exception) -> Passed | None:
    """Why a call that torch refuses in these words may be passed."""
    first = str(error).partition("\n")[0]
    return next((passed for passed in PASSED if re.search(passed.words, first)), None)


@pytest.mark.parametrize("row", everyday(told()), ids=lambda row: row.key)
def test_a_row_tells_what_torch_does(row: Operator) -> None:
    wrong = list(faults(row))
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.parametrize("passed", PASSED, ids=lambda passed: passed.row)
def test_what_is_passed_is_passed_still(passed: Passed) -> None:
    for variant in (each for sample in samples(table()[passed.row]) for each in variants(sample)):
        try:
            variant.run()
        except (RuntimeError, TypeError, ValueError, LookupError) as error:
            if answer(variant).contradiction is None and reason_of(error) is passed:
                return
    pytest.fail("it is refused by now: take another row, or strike it out")
