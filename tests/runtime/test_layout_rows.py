"""Layouts, compared with torch: each row's result for strided tensors, and its refusals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any, Final

import pytest
import torch

from namecheck.core.dims import Dims
from namecheck.core.layouts import LAYOUTS, MEMORY_FORMATS, missing
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.effects.layout import refused_layout
from namecheck.effects.words import Signature, read_subject
from namecheck.operators import Operator, infer, table
from tests.runtime.dtype_samples import (
    CONVERTED,
    Sample,
    Slot,
    dims_of,
    everyday,
    inferred,
    places_of,
    samples,
)
from tests.runtime.test_memory_rows import LEFT_OUT, pairs

SHAPES: Final = ((4, 4), (2, 2), (3, 4), (2, 4, 2, 2), (2, 2, 2))
# Attributes that strided tensors do not have.
OF_SPARSE: Final = (
    *("coalesce", "values", "indices", "crow_indices", "col_indices"),
    *("ccol_indices", "row_indices"),
)


def rows() -> list[Operator]:
    return [
        row
        for row in table().values()
        if row.key not in LEFT_OUT and not set(row.forms) & set("pl")
    ]


def first_of(sample: Sample, layout: str) -> Sample | None:
    """The sample with a layout for its first tensor."""
    args = list(sample.args)
    place = next((n for n, value in enumerate(args) if isinstance(value, Slot)), None)
    if place is None:
        return None
    slot = args[place]
    args[place] = Slot(slot.shape, slot.varied, slot.dtype, layout=layout)
    return Sample(sample.operator, sample.function, tuple(args), sample.kwargs)


def laid(slot: Slot) -> Tensor:
    return Tensor(dims_of(slot), slot.dtype, layout=slot.layout)


def otherwise(sample: Sample) -> Iterator[str]:
    """Where the layout of torch differs from the inferred one."""
    try:
        real = sample.run()
    except Exception:
        return
    guess = inferred(sample, laid)
    for one, tensor in pairs(guess.result, real):
        if one.layout not in (UNKNOWN, str(tensor.layout).removeprefix("torch.")):
            yield f"{sample.operator}: inferred {one.layout}, it is {tensor.layout}"
    if guess.contradiction is not None and guess.contradiction.code == "NC503":
        yield f"{sample.operator}: torch accepts it, refused: {guess.contradiction}"


@pytest.mark.parametrize("row", everyday(rows()), ids=lambda row: row.key)
def test_a_result_has_the_layout_that_is_told(row: Operator) -> None:
    wrong: list[str] = []
    for shape in SHAPES[:1] + SHAPES[3:4]:
        for sample in samples(row, (shape,), settings=False):
            wrong += otherwise(sample)
            for layout in ("sparse_coo", "sparse_csr"):
                sparse = first_of(sample, layout)
                wrong += otherwise(sparse) if sparse is not None else ()
    assert not wrong, "\n".join(wrong[:5])


def refusing() -> list[tuple[Operator, str]]:
    dense = [row for row in rows() if row.key not in OF_SPARSE]
    return [(row, layout) for row in dense for layout in refused_layouts(row)]


def refused_layouts(row: Operator) -> list[str]:
    return [refused_layout(read_subject(subject)) for subject in row.refuses]


# Settings of a call, with some of which torch may return the tensor itself.
CHOICES: Final = (0, 1, -1, (), (0,), (0, 0), (2, 2), None)
MOST_CALLS: Final = 600


def all_settings(row: Operator, layout: str) -> Iterator[Sample]:
    """Calls with a tensor of a layout, with each combination of a few settings."""
    for operator, function in (place for form in "fmn" for place in places_of(row, form)):
        for shape, signature in product(((2, 2), (2,), (1, 2)), row.signatures):
            if layout == "sparse_coo" or len(shape) > 1:
                for rest in settings_of(signature, shape):
                    yield Sample(operator, function, (Slot(shape, layout=layout), *rest), {})


def settings_of(signature: Signature, shape: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    rest = [parameter for parameter in signature[1:] if not parameter.keyword_only]
    choices = [(Slot(shape),) if "tensor" in each.kinds else CHOICES for each in rest]
    for count in range(min(len(rest), 3) + 1):
        yield from product(*choices[:count])


@pytest.mark.parametrize(
    "row",
    [row for row in rows() if row.refuses and row in everyday(rows())],
    ids=lambda row: row.key,
)
def test_a_layout_is_refused_with_certain_settings_alone(row: Operator) -> None:
    wrong: list[str] = []
    for layout in set(refused_layouts(row)) - {"strided"}:
        for sample in islice(all_settings(row, layout), MOST_CALLS):
            wrong += otherwise(sample)
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize(("row", "layout"), refusing(), ids=lambda part: getattr(part, "key", part))
def test_what_is_refused_torch_refuses_in_these_words(row: Operator, layout: str) -> None:
    called = 0
    for shape in SHAPES:
        for sample in samples(row, (shape,), settings=False):
            if sample.operator.endswith("_"):
                continue
            sparse = first_of(sample, layout)
            refusal = inferred(sparse, laid).contradiction if sparse is not None else None
            if sparse is None or refusal is None:
                continue
            assert refusal.code == "NC503", refusal
            with pytest.raises((RuntimeError, TypeError)) as raised:
                sparse.run()
            assert str(raised.value).startswith(str(refusal))
            assert raised.type.__name__ == refusal.error
            called += 1
    assert called


@pytest.mark.parametrize("layout", CONVERTED)
@pytest.mark.parametrize("key", OF_SPARSE)
def test_what_only_sparse_tensors_have(key: str, layout: str) -> None:
    tensor = Slot((2, 2), layout=layout)
    inference = infer(key, laid(tensor))
    call = getattr(tensor.made(), key)
    if inference.contradiction is not None:
        with pytest.raises(RuntimeError) as raised:
            call()
        assert str(raised.value) == str(inference.contradiction)
        return
    real = call()
    assert inference.result.layout == str(real.layout).removeprefix("torch.")
    assert inference.result.dtype in (UNKNOWN, str(real.dtype).removeprefix("torch."))
    assert inference.result.dims.rank in (None, real.dim())


@pytest.mark.parametrize("size", [(), ((2, 2),)], ids=["told by indices", "given"])
@pytest.mark.parametrize("made", ["float64", "int64"])
def test_what_is_made_of_indices_and_values(size: tuple[Any, ...], made: str) -> None:
    values = torch.ones(2, dtype=getattr(torch, made))
    places = {"coo": ([[0, 1], [0, 1]],), "csr": ([0, 1, 2], [0, 1]), "csc": ([0, 1, 2], [0, 1])}
    for kind, indices in places.items():
        function = getattr(torch, f"sparse_{kind}_tensor")
        real = function(*map(torch.tensor, indices), values, *size)
        inferred_tensor = infer(
            f"torch.sparse_{kind}_tensor",
            *(Tensor(Dims.of(None)) for _ in indices),
            Tensor(Dims.of(None, sizes=[2]), made),
            *size,
        ).result
        assert f"torch.{inferred_tensor.layout}" == str(real.layout)
        assert inferred_tensor.dtype == made
        assert inferred_tensor.dims.sizes == tuple(real.shape) or (
            not size and inferred_tensor.dims.open
        )


def test_no_word_of_torch_is_taken_for_a_misspelt_one() -> None:
    assert [word for word in dir(torch) if missing(word)] == []
    for word in (*LAYOUTS, *MEMORY_FORMATS):
        assert hasattr(torch, word)
        wrong = missing(word[:3] + word[4:])
        assert wrong is not None
        assert wrong.help == f"Did you mean `torch.{word}`?"
        with pytest.raises(AttributeError, match=wrong.message):
            getattr(torch, word[:3] + word[4:])
