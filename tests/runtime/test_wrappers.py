"""The wrappers of torch's functions: their memos, and the calls that they leave to torch."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

import pytest
import torch

import namecheck
from namecheck import operators
from namecheck.runtime import runtime
from namecheck.runtime.patching import sites
from namecheck.runtime.patching.sites import MOST_PLANS
from namecheck.runtime.patching.targets import all_targets
from namecheck.runtime.patching.wrappers import shape_of

TORCH: Final[Any] = torch  # with names, which type checkers do not know

# Evaluated before anything is patched: on the originals.
EXACT: Final = [
    (target, shape)
    for target in all_targets(operators.table())
    if (shape := shape_of(target)) is not None
]


@pytest.fixture(autouse=True)
def shim() -> Iterator[None]:
    with runtime():
        yield


def named(*names: str | None, size: int = 2) -> Any:
    return torch.zeros((size,) * len(names), names=names)  # type: ignore[call-overload]


@pytest.mark.parametrize("times", [1, 3])
def test_a_contradiction_is_met_each_time(times: int) -> None:
    left, right = named("N", "C"), named("C", "N")
    with runtime("record") as record:
        for _ in range(times):
            left + right
    [tally] = record.tallies.values()
    assert tally.count == times
    with pytest.raises(namecheck.NameMismatch):
        left + right


def test_a_contradicted_call_finds_its_dims_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = named("N", "C"), named("N", "C")
    with runtime("record") as record:
        assert TORCH.tensordot(left, right, dims=(["C"], ["C"])).names == (None, None)
    assert [finding.code for finding in record.findings] == ["NC104"]
    monkeypatch.setenv("NAMECHECK", "off")
    assert TORCH.tensordot(left, right, dims=(["C"], ["C"])).names == (None, None)


def test_a_call_may_be_remembered_by_arguments_of_another_number() -> None:
    x = named("N", "C")
    assert [x.sum("N").names, x.sum("N", True).names, x.sum().names] == [("C",), ("N", "C"), ()]
    assert [x.sum("N").names, x.sum("N", True).names, x.sum().names] == [("C",), ("N", "C"), ()]


def test_a_keyword_alone_stays_a_keyword() -> None:
    x = named("N", "C")
    function: Any = torch.add
    assert x.add(x, alpha=2).names == function(x, x, alpha=2).names == ("N", "C")
    assert x.softmax(dim="C", dtype=torch.float64).dtype == torch.float64
    with pytest.raises(TypeError):
        x.sum("N", True, torch.float64)


def test_a_number_is_told_from_a_tensor() -> None:
    x, row = named("N", "C"), named("C")
    for other in (1, row, 2.5, torch.ones(2), torch.ones(2, 2, 2)):
        names = (x + other).names
        assert names == ((None, "N", "C") if getattr(other, "ndim", 0) == 3 else ("N", "C"))


def test_an_operand_of_another_class_has_its_say() -> None:
    class Other:
        def __radd__(self, left: Any) -> str:
            return f"a tensor {left.names} and me"

    x = named("N", "C")
    assert (x + 1).names == ("N", "C")
    assert x + Other() == "a tensor ('N', 'C') and me"


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (0, ("C",)),
        (slice(1), ("N", "C")),
        (None, (None, "N", "C")),
        (..., ("N", "C")),
        ((slice(None), None), ("N", None, "C")),
        ((..., 0), ("N",)),
        ((0, 1), ()),
        (True, (None, "N", "C")),
        (torch.tensor([0, 1]), (None, "C")),
    ],
)
def test_an_index_is_remembered_by_its_kind(index: Any, names: tuple[str | None, ...]) -> None:
    x = named("N", "C")
    assert [x[index].names, x[index].names] == [names, names]


def test_nothing_is_kept_alive() -> None:
    x = named("N", "C")
    index, value = torch.tensor([1]), torch.ones(2, 2)
    held = weakref.ref(value)
    for _ in range(2):
        x.where(value > 0, value)
        x[index] = 0.0
        x + value
        x.index_select(0, index)
        torch.full_like(x, 1.0)
    del value
    gc.collect()
    assert held() is None


def test_a_call_with_a_list_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    x: Any = torch.zeros(2, 3, 4, names=("N", "C", "T"))  # type: ignore[call-overload]
    total: Any = torch.sum
    dims, places = ["N", "T"], [0, 2]
    calls: tuple[Any, ...] = (
        (lambda: x.sum(dims), ("C",)),
        (lambda: x.sum(places, True), ("N", "C", "T")),
        (lambda: total(x, dims), ("C",)),
        (lambda: x.flatten(["N", "C"], "M"), ("M", "T")),
        (lambda: x.permute([2, 0, 1]), ("T", "N", "C")),
    )
    for call, expected in calls:
        assert call().names == expected
    monkeypatch.setattr(sites.Site, "perform", None)
    for call, expected in calls:
        assert call().names == expected
    monkeypatch.undo()
    dims[0], places[0] = "C", 1
    assert (x.sum(dims).names, x.sum(places).names) == (("N",), ("N",))
    dims[0], places[0] = "N", 0
    assert (x.sum(dims).names, x.sum(places, True).shape) == (("C",), (1, 3, 1))
    torch.ops.aten.unsqueeze_(x, 0)
    with pytest.raises(namecheck.NameMismatch, match="Name 'N' not found"):
        x.sum(dims)


def test_data_is_not_remembered() -> None:
    x = named("N", "C")
    wrapper: Any = torch.Tensor.new_tensor
    site = getattr(_site_of(wrapper), "__self__", None)
    assert site is not None
    before = site.entries
    for number in range(3):
        x.new_tensor([float(number)] * 100)
    assert site.entries == before


def test_many_kinds_of_calls_are_not_all_remembered() -> None:
    x = named("N", "C")
    wrapper: Any = torch.Tensor.roll
    for shift in range(MOST_PLANS + 10):
        x.roll(shift, 0)
    site = wrapper.__globals__.get("learn", wrapper.__closure__ and _site_of(wrapper))
    site = getattr(site, "__self__", site)
    assert site.entries <= MOST_PLANS
    assert len(site.plans) <= MOST_PLANS


def _site_of(wrapper: Any) -> Any:
    held = (cell.cell_contents for cell in wrapper.__closure__)
    return next(part for part in held if hasattr(part, "__self__"))


def test_what_torch_takes_by_keyword_alone_is_never_passed_by_place() -> None:
    wrong = []
    for target, shape in EXACT:
        places = {name for name, _ in shape.positional[1:]}
        if isinstance(target.original, FunctionType) or target.special:
            continue
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{target.attribute}")
        by_place = {a.name for s in schemas for a in s.arguments if not a.kwarg_only}
        alone = {a.name for s in schemas for a in s.arguments if a.kwarg_only} - by_place
        if clash := places & alone:
            wrong.append(f"{target.form} {target.attribute}: {', '.join(sorted(clash))}")
    assert not wrong


def test_how_an_argument_was_passed_is_left_as_it_is() -> None:
    x = torch.tensor([1.0, 1.0, 2.0])
    _values, counts = torch.unique_consecutive(x, return_inverse=False, return_counts=True)
    assert counts.tolist() == [2, 1]


def test_what_stands_in_for_a_function_is_pickled_by_its_name() -> None:
    replaced = [
        function
        for target in all_targets(operators.table())
        if callable(function := getattr(target.owner, target.attribute))
    ]
    assert len(replaced) > 1000
    lost = [function for function in replaced if pickle.loads(pickle.dumps(function)) != function]
    assert lost == []


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.unflatten(0, (1, -1)),
        lambda x: x.rename(None),
        lambda x: x.refine_names(...),
        lambda x: x.rename(None).unflatten(-1, [2, 1]).transpose(0, 1),
    ],
)
def test_a_result_without_names_is_as_any_unnamed_tensor(call: Any) -> None:
    for _ in range(3):  # learned, from the memo, and from a recent look-up
        assert vars(call(torch.zeros(2, 2))) == {}


def test_an_argument_without_names_loses_the_attribute_of_its_names() -> None:
    for _ in range(3):
        x = named("N", "C")
        x.rename_(None)
        assert x.names == (None, None)
        assert (x + torch.zeros(2, 2)).names == (None, None)


def test_rename_costs_the_backward_pass_no_reshaping() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    for _ in range(3):
        renamed = (x * 2).rename("N", "C")  # type: ignore[attr-defined]
        assert "Alias" in type(renamed.grad_fn).__name__
    renamed.rename(None).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_flatten_and_unflatten_from_the_memo() -> None:
    for size in (2, 3):
        x = named("N", "C", size=size)
        for _ in range(2):
            sizes = (("A", size), ("B", 1))
            split = x.unflatten("C", sizes)
            assert (split.names, split.shape) == (("N", "A", "B"), (size, size, 1))
            flat = split.flatten(["N", "A"], "M")
            assert (flat.names, flat.shape) == (("M", "B"), (size * size, 1))
            assert split.flatten("A", "B", "C").names == ("N", "C")


def test_flatten_takes_no_list_of_indices() -> None:
    """As torch itself: a list has the names of dims, and the name of the result beside it."""
    for call in (
        lambda: named("N", "C").flatten([0, 1]),
        lambda: named("N", "C").flatten([0, 1], None),
        lambda: torch.zeros(2, 2).flatten([0, 1]),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="flatten"):
            call()


def test_flatten_of_one_dim_renames_no_argument() -> None:
    for _ in range(3):
        x = named("N", "C")
        assert x.flatten(["C"], "D").names == ("N", "D")
        assert x.names == ("N", "C")
        assert x.flatten(["N", "C"], "D").names == ("D",)
