"""A call has the same result whatever was called before: 1, True and 1.0 have one hash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, TypeAlias

import pytest
import torch
import torch.nn.functional as F

from namecheck.runtime.gate.loading import GateType
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
def gate_type(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GateType | None]:
    with pytest.MonkeyPatch.context() as patch:
        is_compiled = request.param == "gate"
        yield built_in(tmp_path_factory.mktemp("cache"), patch) if is_compiled else None


@pytest.mark.parametrize("operations", _ALIKE)
def test_a_call_does_not_depend_on_the_calls_before(
    operations: tuple[Operation, ...], gate_type: GateType | None
) -> None:
    alone = []
    for operation in operations:
        with gated(gate_type):
            alone.append(_outcome(operation))
    for order in permutations(range(len(operations))):
        with gated(gate_type):
            rounds = [{index: _outcome(operations[index]) for index in order} for _ in range(3)]
        for outcomes in rounds:
            assert [outcomes[index] for index in range(len(operations))] == alone
