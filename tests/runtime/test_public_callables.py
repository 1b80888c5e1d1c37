"""Every public callable of torch: it follows a rule for names, or a decision is recorded.

The decisions are in fixtures/public_callables.toml. A callable of a new torch that has neither a
row of the table nor a decision fails here.
"""

from __future__ import annotations

import importlib
import inspect
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch import nn

from namecheck import NameMismatch, operators
from namecheck.runtime import runtime
from namecheck.runtime.core.tensor_names import names_of
from namecheck.runtime.patching import targets
from tests.runtime.tensors import called, named

FILE: Final = Path(__file__).parents[2] / "fixtures" / "public_callables.toml"
OWNERS: Final[Mapping[str, Any]] = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn.functional": nn.functional,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
}
DIM: Final[Any] = importlib.import_module("functorch.dim").Dim  # it has no types
# What may become of the names: see the head of the file.
OUTCOMES: Final = ("kept", "dropped", "refused", "no tensor")


@dataclass(frozen=True)
class Decision:
    """What becomes of names in some callables without a row, and why."""

    outcome: str
    why: str
    callables: tuple[str, ...]


@cache
def decisions() -> tuple[Decision, ...]:
    entries = tomllib.loads(FILE.read_text("utf-8"))["decision"]
    return tuple(
        Decision(entry["outcome"], entry["why"], tuple(entry["callables"])) for entry in entries
    )


def decided() -> dict[str, str]:
    """The outcome of each callable that has a decision."""
    return {name: each.outcome for each in decisions() for name in each.callables}


def public() -> Iterator[tuple[str, Any, Any]]:
    """The name, the owner and the value of each public callable, and of properties of tensors."""
    for path, owner in OWNERS.items():
        for attribute in dir(owner):
            value = inspect.getattr_static(owner, attribute)
            if _is_public(owner, attribute) and _may_take_tensor(owner, value):
                yield f"{path}.{attribute}", owner, value


def _is_public(owner: Any, attribute: str) -> bool:
    if not attribute.startswith("_"):
        return True
    if owner is not torch.Tensor or not (attribute.startswith("__") and attribute.endswith("__")):
        return False
    of_all = inspect.getattr_static(object, attribute, None)
    return of_all is None or inspect.getattr_static(owner, attribute) is not of_all


def _may_take_tensor(owner: Any, value: Any) -> bool:
    """Whether it is a callable of any kind; of classes, those of tensors."""
    if owner is torch.Tensor:
        return callable(value) or inspect.isdatadescriptor(value)
    if inspect.isclass(value):
        return issubclass(value, torch.Tensor) or type(value) is type(torch.FloatTensor)
    return callable(value)


@cache
def replaced() -> frozenset[str]:
    """The callables that the shim replaces."""
    originals = list(public())
    with runtime():
        return frozenset(
            name
            for name, owner, value in originals
            if inspect.getattr_static(owner, name.rpartition(".")[2]) is not value
        )


@cache
def ruled() -> frozenset[str]:
    """The replaced callables whose rows have a rule for the names."""
    without_rule = {
        (id(target.owner), target.attribute)
        for target in targets.all_targets(operators.table())
        if target.row.names == "unknown"
    }
    return frozenset(
        name
        for name, owner, _ in public()
        if name in replaced() and (id(owner), name.rpartition(".")[2]) not in without_rule
    )


def test_every_public_callable_follows_a_rule_or_a_decision() -> None:
    names = [name for name, _, _ in public()]
    assert len(names) > 1600
    missing = [name for name in names if name not in ruled() and name not in decided()]
    assert missing == [], f"add a row to the table, or a decision to {FILE.name}"


def test_every_decision_is_needed() -> None:
    names = {name for name, _, _ in public()}
    counts = Counter(name for each in decisions() for name in each.callables)
    assert [name for name, count in counts.items() if count > 1] == []
    assert [name for name in counts if name in names & ruled()] == [], "these follow a rule"
    assert [name for name in counts if name not in names] == [], "torch has none of these"


def test_every_decision_has_a_reason() -> None:
    for decision in decisions():
        assert decision.outcome in OUTCOMES
        assert decision.why.endswith(".")
        assert list(decision.callables) == sorted(decision.callables)


Call = Callable[[], Any]


def matrix() -> Any:
    return named("N", "C", sizes=(4, 4))


def steps() -> Any:
    return named("N", "T", "C", sizes=(2, 3, 4))


def indices() -> Any:
    return called(torch.tensor([0, 1, 2, 3]), "N")


# A call of callables without a row, by name, with all named tensors that it takes.
SAMPLES: Final[Mapping[str, Call]] = {
    "torch.Tensor.map_": lambda: matrix().map_(matrix(), lambda a, b: a + b),
    "torch.Tensor.map2_": lambda: matrix().map2_(matrix(), matrix(), lambda a, b, c: a + b + c),
    "torch.Tensor.set_": lambda: matrix().set_(torch.zeros(2, 2)),
    "torch.pca_lowrank": lambda: torch.pca_lowrank(matrix(), 2)[0],
    "torch.svd_lowrank": lambda: torch.svd_lowrank(matrix(), 2)[0],
    "torch.unravel_index": lambda: torch.unravel_index(indices(), (2, 2)),
    "torch.nn.functional.triplet_margin_with_distance_loss": lambda: (
        nn.functional.triplet_margin_with_distance_loss(
            matrix(), matrix(), matrix(), reduction="none"
        )
    ),
    "torch.nn.functional.linear_cross_entropy": lambda: nn.functional.linear_cross_entropy(
        matrix(), named("K", "C", sizes=(5, 4)), indices(), reduction="none"
    ),
    "torch.nn.functional.multi_head_attention_forward": lambda: (
        nn.functional.multi_head_attention_forward(
            *(steps(), steps(), steps(), 4, 2, torch.rand(12, 4), torch.rand(12), None, None),
            *(False, 0.0, torch.rand(4, 4), torch.rand(4)),
        )
    ),
    "torch.native_layer_norm": lambda: torch.native_layer_norm(matrix(), (4,), None, None, 1e-5),
    "torch.embedding": lambda: torch.embedding(matrix(), indices()),
    "torch.Tensor.hash_tensor": lambda: matrix().hash_tensor(1),
    "torch.Tensor.nonzero_static": lambda: matrix().nonzero_static(size=3),
    "torch.Tensor.sparse_mask": lambda: matrix().sparse_mask(matrix().to_sparse()),
    "torch.frobenius_norm": lambda: torch.frobenius_norm(matrix(), dim=1),
    "torch.segment_reduce": lambda: torch.segment_reduce(
        matrix(), "sum", lengths=torch.tensor([2, 2])
    ),
    "torch.lu": lambda: torch.lu(matrix()),
    "torch.linalg.tensorinv": lambda: torch.linalg.tensorinv(matrix(), 1),
    "torch.Tensor.to_mkldnn": lambda: matrix().to_mkldnn(),
    "torch.FloatTensor": lambda: torch.FloatTensor(matrix()),
    "torch.fft.Tensor": lambda: torch.Tensor(matrix()),
    "torch.vmap": lambda: torch.vmap(torch.sin)(matrix()),
    "torch.Tensor.index": lambda: matrix().index(0, DIM("rows")),
}


def _outcome_of(call: Call) -> str:
    try:
        return _outcome(call())
    except NameMismatch:
        return "refused"


def _outcome(result: Any) -> str:
    parts = result if isinstance(result, (tuple, list)) else [result]
    tensors = [part for part in parts if isinstance(part, torch.Tensor)]
    if not tensors:
        return "no tensor"
    has_names = [any(name is not None for name in names_of(each) or ()) for each in tensors]
    return "kept" if all(has_names) else "dropped"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_decision_says_what_becomes_of_the_names(name: str) -> None:
    with runtime(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert _outcome_of(SAMPLES[name]) == decided()[name]
