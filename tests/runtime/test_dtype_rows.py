"""Every row with a column for dtypes, compared with torch: calls over all dtypes and mixed ones.

The rules accept what torch accepts, and infer the dtype of each result, or nothing; what they
refuse torch refuses. They refuse what torch refuses, except for missing kernels, and for the
entries of `PASSED`. The expected results come from torch alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
import torch

from namecheck.core.dtypes import KINDS
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Many, Tensor
from namecheck.operators import Inference, Operator, table
from tests.runtime.dtype_samples import DTYPES, Sample, dims_of, everyday, inferred, samples

# A few dtypes represent all where those of several tensors are mixed.
MIXED: Final = ("float32", "float16", "int64", "bool")
# The dtypes of parameters that are combined with inputs of all dtypes.
PARAMETERS: Final = ("float32", "float64", "bfloat16")
# Calls that depend on the machine, or do not return.
LEFT_OUT: Final = frozenset({"cuda", "pin_memory", "share_memory_", "apply_", "map_"})

# Rows without a testable call: torch has no names, a layer is made from another one, or only sparse
# tensors are accepted.
UNTRIED: Final = frozenset(
    {
        *("align_as", "align_to", "refine_names", "rename", "__deepcopy__", "as_subclass"),
        *("nn.TransformerDecoder", "nn.TransformerEncoder", "coalesce"),
        *("values", "indices", "crow_indices", "col_indices", "ccol_indices", "row_indices"),
        "sparse_compressed_tensor",
    }
)


# The existing kernels differ between devices and versions: `lacks` has those that a mistake is
# likely to call.
KERNEL: Final = (
    r"\"[^\"]+\" not implemented for '|\bon CPU\b"
    r"|^(Unsupported dtype|MKL FFT doesn't support) .*(Half|BFloat16)$"
)


class Passed(NamedTuple):
    """Calls that torch refuses for dtypes and the rules accept: rows, torch's message, reason."""

    rows: tuple[str, ...]
    words: str
    reason: str


PASSED: Final = (
    Passed(
        ("abs", "absolute"),
        "In-place abs is not supported for complex tensors",
        "refused in place, and taken as `out=`, which is the same to the table",
    ),
    Passed(
        ("view", "view_copy"),
        r"self.size\(-1\) must be divisible by",
        "the size of the last dim decides, and not the dtype",
    ),
    Passed(
        (
            *("nn.AlphaDropout", "nn.FeatureAlphaDropout", "nn.Dropout"),
            *("nn.Dropout1d", "nn.Dropout2d", "nn.Dropout3d"),
        ),
        "result type Float can't be cast",
        "taken where the layer evaluates, which its call does not tell",
    ),
)


def rows_with_dtypes() -> list[Operator]:
    rows = [row for row in table().values() if row.dtype or row.needs or row.lacks]
    return [r for r in rows if r.key not in LEFT_OUT and not set(r.forms) & set("pl")]


def variants(sample: Sample) -> Iterator[Sample]:
    """The sample with all tensors of one dtype, and with one tensor of another than the rest."""
    for dtype in DTYPES:
        yield sample.with_dtypes((dtype,))
        for other in PARAMETERS if sample.has_parameters else ():
            yield sample.with_dtypes((dtype,)).with_layer(other)
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
    """Whether an inferred dtype differs from that of the tensor."""
    if isinstance(real, torch.Tensor) and isinstance(guess, Tensor):
        name = str(real.dtype).removeprefix("torch.")
        return guess.dtype not in (UNKNOWN, name) and name in KINDS
    if isinstance(real, (tuple, list)) and isinstance(guess, (tuple, list)):
        return any(map(contradicts, guess, real))
    if isinstance(real, (tuple, list)) and isinstance(guess, Many):
        return any(contradicts(guess.each, part) for part in real)
    return False


def faults(row: Operator) -> Iterator[str]:
    """Disagreements between the rules and torch about the calls of a row."""
    accepted = 0
    for variant in (each for sample in samples(row) for each in variants(sample)):
        guess, call = answer(variant), f"{variant.operator}{variant.dtypes}"
        refused = guess.contradiction is not None
        try:
            real = variant.run()
        except (RuntimeError, TypeError, ValueError, LookupError) as error:
            if not refused and not is_passed(row.key, error):
                yield f"{call}: torch refuses it, passed: {error}"
            continue
        accepted += 1
        if guess.contradiction is not None and guess.contradiction.code.startswith("NC3"):
            yield f"{call}: torch accepts it, refused: {guess.contradiction}"
        elif not refused and contradicts(guess.result, real):
            yield f"{call}: inferred {guess.result}"
    if bool(accepted) == (row.key in UNTRIED):
        yield f"{row.key}: torch accepts {accepted} calls"


def is_passed(key: str, error: Exception) -> bool:
    """Whether the rules may accept a call of a row that torch refuses with this message."""
    first = str(error).partition("\n")[0]
    words = [KERNEL, *(passed.words for passed in PASSED if key in passed.rows)]
    return any(re.search(each, first) for each in words)


@pytest.mark.parametrize("row", everyday(rows_with_dtypes()), ids=lambda row: row.key)
def test_a_row_tells_what_torch_does(row: Operator) -> None:
    wrong = list(faults(row))
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.parametrize(
    ("key", "words"), [(key, passed.words) for passed in PASSED for key in passed.rows]
)
def test_what_is_passed_is_passed_still(key: str, words: str) -> None:
    for variant in (each for sample in samples(table()[key]) for each in variants(sample)):
        try:
            variant.run()
        except (RuntimeError, TypeError, ValueError, LookupError) as error:
            if answer(variant).contradiction is None and re.search(words, str(error)):
                return
    pytest.fail("it is refused by now: strike it out")
