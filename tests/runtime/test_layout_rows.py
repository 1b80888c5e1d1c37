"""Layouts, held against torch: what each row gives of strided tensors, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest
import torch

from namecheck.attributes.layouts import LAYOUTS, MEMORY_FORMATS, missing
from namecheck.names import UNKNOWN
from namecheck.operators import Operator, infer, table
from namecheck.values import Tensor
from tests.runtime.dtype_samples import Sample, Slot, dims_of, everyday, inferred, samples
from tests.runtime.test_memory_rows import LEFT_OUT, pairs

SHAPES: Final = ((4, 4), (2, 2), (3, 4), (2, 4, 2, 2), (2, 2, 2))
CONVERTED: Final[dict[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "strided": lambda tensor: tensor,
    "sparse_coo": torch.Tensor.to_sparse,
    "sparse_csr": torch.Tensor.to_sparse_csr,
}


@dataclass(frozen=True)
class Kept(Slot):
    """A tensor of some layout."""

    layout: str = "strided"

    def made(self) -> torch.Tensor:
        return CONVERTED[self.layout](super().made())


def rows() -> list[Operator]:
    return [
        row
        for row in table().values()
        if row.key not in LEFT_OUT and not set(row.forms) & set("pl")
    ]


def first_of(sample: Sample, layout: str) -> Sample | None:
    """The sample, whose first tensor is of a layout."""
    args = list(sample.args)
    place = next((n for n, value in enumerate(args) if isinstance(value, Slot)), None)
    if place is None:
        return None
    slot = args[place]
    args[place] = Kept(slot.shape, slot.varied, slot.dtype, layout=layout)
    return Sample(sample.operator, sample.function, tuple(args), sample.kwargs)


def laid(slot: Slot) -> Tensor:
    return Tensor(dims_of(slot), slot.dtype, layout=getattr(slot, "layout", "strided"))


def otherwise(sample: Sample) -> Iterator[str]:
    """Where torch gives another layout than is told."""
    try:
        real = sample.run()
    except Exception:
        return
    guess = inferred(sample, laid)
    for one, tensor in pairs(guess.result, real):
        if one.layout not in (UNKNOWN, str(tensor.layout).removeprefix("torch.")):
            yield f"{sample.operator}: told {one.layout}, it is {tensor.layout}"
    if guess.contradiction is not None and guess.contradiction.code == "NC503":
        yield f"{sample.operator}: torch accepts it, refused: {guess.contradiction}"


@pytest.mark.parametrize("row", everyday(rows()), ids=lambda row: row.key)
def test_a_result_has_the_layout_that_is_told(row: Operator) -> None:
    wrong: list[str] = []
    for shape in SHAPES[:1] + SHAPES[3:4]:
        for sample in samples(row, (shape,)):
            wrong += otherwise(sample)
            for layout in ("sparse_coo", "sparse_csr"):
                sparse = first_of(sample, layout)
                wrong += otherwise(sparse) if sparse is not None else ()
    assert not wrong, "\n".join(wrong[:5])


def refusing() -> list[tuple[Operator, str]]:
    return [(row, layout) for row in rows() for layout in row.refuses if row.key != "coalesce"]


@pytest.mark.parametrize(("row", "layout"), refusing(), ids=lambda part: getattr(part, "key", part))
def test_what_is_refused_torch_refuses_in_these_words(row: Operator, layout: str) -> None:
    called = 0
    for shape in SHAPES:
        for sample in samples(row, (shape,)):
            if sample.operator.endswith("_"):
                continue
            sparse = first_of(sample, layout)
            told = inferred(sparse, laid).contradiction if sparse is not None else None
            if sparse is None or told is None:
                continue
            assert told.code == "NC503", told
            with pytest.raises((RuntimeError, TypeError)) as raised:
                sparse.run()
            assert str(raised.value).startswith(str(told))
            assert raised.type.__name__ == told.error
            called += 1
    assert called


@pytest.mark.parametrize("layout", ["strided", "sparse_csr"])
def test_what_is_not_coalesced(layout: str) -> None:
    tensor = Kept((2, 2), layout=layout)
    told = infer("coalesce", laid(tensor)).contradiction
    with pytest.raises(RuntimeError) as raised:
        tensor.made().coalesce()
    assert str(raised.value) == str(told)


def test_no_word_of_torch_is_taken_for_a_misspelt_one() -> None:
    assert [word for word in dir(torch) if missing(word)] == []
    for word in (*LAYOUTS, *MEMORY_FORMATS):
        assert hasattr(torch, word)
        wrong = missing(word[:3] + word[4:])
        assert wrong is not None
        assert wrong.help == f"Did you mean `torch.{word}`?"
        with pytest.raises(AttributeError, match=wrong.message):
            getattr(torch, word[:3] + word[4:])
