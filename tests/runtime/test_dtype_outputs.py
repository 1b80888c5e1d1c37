"""The dtypes that ``out=`` tensors accept, compared with torch: every row, every pair of dtypes.

The rules accept what torch accepts; they refuse what torch refuses for the dtype of the output,
with the same message. The expected results come from torch alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest
import torch

from namecheck.core.tensors import Tensor
from namecheck.operators import Operator, table
from tests.runtime.dtype_samples import (
    DTYPES,
    Sample,
    Slot,
    dims_of,
    everyday,
    inferred,
    samples,
)

TARGETS: Final = ("float32", "float64", "int64", "int32", "uint8", "bool", "complex64")
ASKED: Final = (torch.float64, torch.int64)
# The errors of torch where no signature has an ``out=``.
UNBOUND: Final = ("received an invalid combination", "missing 1 required positional")
# Outputs that torch refuses and the rules accept: the message, and why.
PASSED: Final = {
    "Found dtype ComplexFloat but expected ComplexDouble": "only some ways to compute it do so",
    "scalar type ComplexHalf": "what halves become differs between complex functions",
    "dtype c10::complex<c10::Half>": "what halves become differs between complex functions",
    '"nansum_cpu" not implemented': "of integers it is another kernel",
    '"std_cpu" not implemented': "which kernels there are differs between devices",
    "std_var_all: Unsupported dtype": "which kernels there are differs between devices",
}
# Errors that torch finds first, or reports with its own message: the rules have others.
OTHER_WORDS: Final = (
    *("Expected canCast(", "Expected self.dtype()", "mvlgamma: ", " CPU", "nansum: "),
    *("not yet implemented for complex", "ldexp can't be cast", "mean.dtype_out()"),
)


# Arguments of other overloads than those with ``out=``.
WITHOUT_OUTPUT: Final = frozenset({"memory_format", "descending"})


def written() -> list[Operator]:
    return [row for row in table().values() if "o" in row.forms and row.dtype]


def calls(row: Operator) -> Iterator[Sample]:
    """Calls of the function of a row, also with requested dtypes."""
    takes_dtype = any(p.name == "dtype" for signature in row.signatures for p in signature)
    for sample in samples(row):
        if sample.operator.startswith("Tensor.") or sample.operator.endswith("_"):
            continue
        if not WITHOUT_OUTPUT.isdisjoint(sample.kwargs):
            continue
        for dtype in DTYPES if sample.slots else DTYPES[:1]:
            yield sample.with_dtypes((dtype,))
        for asked in ASKED if takes_dtype else ():
            yield replace(sample, kwargs={**sample.kwargs, "dtype": asked})


def into_others(sample: Sample) -> Iterator[Sample]:
    """The same call into outputs, one of which may have another dtype."""
    try:
        real = sample.run()
    except (RuntimeError, TypeError, ValueError, LookupError):
        return
    several = isinstance(real, tuple)
    results: tuple[Any, ...] = tuple(real) if several else (real,)
    outs = [Slot(tuple(r.shape), False, str(r.dtype).removeprefix("torch.")) for r in results]
    for place, out in enumerate(outs):
        for target in TARGETS:
            chosen = (*outs[:place], replace(out, dtype=target), *outs[place + 1 :])
            yield replace(sample, kwargs={**sample.kwargs, "out": chosen if several else chosen[0]})


def faults(row: Operator) -> Iterator[str]:
    """Where the rules and torch disagree about the dtypes that an output accepts."""
    for sample in (into for call in calls(row) for into in into_others(call)):
        guess = inferred(sample, lambda slot: Tensor(dims_of(slot), slot.dtype)).contradiction
        call = f"{sample.operator}{sample.dtypes}{sample.kwargs.get('dtype', '')}"
        try:
            sample.run()
        except (RuntimeError, TypeError, ValueError, LookupError) as error:
            said = str(error).partition("\n")[0]
            if any(words in said for words in UNBOUND):
                continue
            if guess is None and not any(words in said for words in PASSED):
                yield f"{call}: torch refuses it, passed: {said}"
            if guess is None or any(words in said for words in OTHER_WORDS):
                continue
            if guess.message != said:
                yield f"{call}: torch says {said}, the rules {guess.message}"
            elif guess.error != type(error).__name__:
                yield f"{call}: torch raises {type(error).__name__}, the rules {guess.error}"
            continue
        if guess is not None:
            yield f"{call}: torch accepts it, refused: {guess}"


@pytest.mark.parametrize("row", everyday(written()), ids=lambda row: row.key)
def test_an_output_takes_what_torch_writes_to_it(row: Operator) -> None:
    wrong = list(faults(row))
    assert not wrong, "\n".join(wrong[:10])
