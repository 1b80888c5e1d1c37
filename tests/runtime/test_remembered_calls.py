"""A call has the same result whatever was called before: 1, True and 1.0 have one hash."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
import torch
import torch.nn.functional as F

from namecheck.runtime.gate.loading import GateTypes
from tests.runtime.gates import built_in, gated, needs_compiler

Operation: TypeAlias = Callable[[Any], Any]
TORCH: Any = torch  # called as its types do not allow

# In each group the arguments are equal to Python.
_ALIKE: tuple[tuple[Operation, ...], ...] = (
    (lambda x: x.std(False), lambda x: x.std(0)),
    (lambda x: torch.var(x, True), lambda x: torch.var(x, 1)),
    (lambda x: x.sum(1), lambda x: x.sum(1.0)),
    (lambda x: x.unsqueeze(1), lambda x: x.unsqueeze(1.0)),
    (lambda x: x.select(1, 0), lambda x: x.select(1.0, 0)),
    (lambda x: x.sum(1, keepdim=True), lambda x: x.sum(1, keepdim=False)),
    (lambda x: F.dropout(x, 1, True), lambda x: F.dropout(x, 1.0, True)),
    (lambda x: x + 1, lambda x: x + 1.0, lambda x: x + True),
)


def _outcome(operation: Operation) -> object:
    try:
        return operation(TORCH.ones(4, 5, names=("A", "B"))).names
    except TypeError as error:
        return str(error).splitlines()[0]


@pytest.fixture(scope="module", params=["python", pytest.param("gate", marks=needs_compiler)])
def gate_types(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GateTypes | None]:
    with pytest.MonkeyPatch.context() as patch:
        is_compiled = request.param == "gate"
        yield built_in(tmp_path_factory.mktemp("cache"), patch) if is_compiled else None


def _rounds(operation: Operation) -> list[object]:
    """What a call gives when it is made first, and from what is remembered."""
    return [_outcome(operation) for _ in range(3)]


def test_a_call_does_not_depend_on_the_calls_before(gate_types: GateTypes | None) -> None:
    by_order = []
    for step in (1, -1):
        with gated(gate_types):
            by_order.append([[_rounds(one) for one in group[::step]][::step] for group in _ALIKE])
    assert by_order[0] == by_order[1]
    assert all(len(set(map(str, rounds))) == 1 for group in by_order[0] for rounds in group)


class _Foreign:
    """No tensor, and overrides torch's functions."""

    @classmethod
    def __torch_function__(
        cls, func: object, types: object, args: object = (), kwargs: object = None
    ) -> str:
        return "foreign"


@pytest.mark.parametrize(
    "operation",
    [
        lambda x, other: x + other,
        lambda x, other: x == other,
        lambda x, other: x.mul(other),
        lambda x, other: torch.add(x, other),
    ],
)
def test_a_foreign_operand_is_no_number(
    gate_types: GateTypes | None, operation: Callable[[Any, Any], Any]
) -> None:
    with gated(gate_types):
        x = TORCH.ones(2, 3, names=("N", "C"))
        for _ in range(2):
            assert operation(x, 1).names == ("N", "C")
            assert operation(x, _Foreign()) == "foreign"


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + torch.ones(7),
        lambda x: x.view(7),
        lambda x: x.sum(5),
        lambda x: torch.cat([x, torch.ones(2, 9)]),
        lambda x: F.linear(x, torch.ones(5, 5)),
        lambda x: TORCH.zeros_like(x, dtype=3),
        lambda x: x.refine_names("N") + x,
    ],
)
def test_an_error_keeps_no_tensor_alive(gate_types: GateTypes | None, operation: Operation) -> None:
    gc.disable()
    try:
        with gated(gate_types):
            tensor = torch.ones(2, 3)
            is_alive = weakref.ref(tensor)
            with contextlib.suppress(RuntimeError, TypeError, IndexError):
                operation(tensor)
            del tensor
            assert is_alive() is None
    finally:
        gc.enable()
