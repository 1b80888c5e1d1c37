"""No result has a label twice, whatever rule computes it."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.rules.answers import code, names


def tensor(labels: str, dtype: str = "float32") -> Tensor:
    """A tensor whose dims have these labels; ``-`` has none, ``?`` an unknown one."""
    words = {"-": None, "?": UNKNOWN}
    return Tensor(Dims.of(*(words.get(label, label) for label in labels.split())), dtype)


def indices(labels: str) -> Tensor:
    """A tensor of indices."""
    return tensor(labels, "int64")


CALLS = [
    ("__getitem__", (tensor("N C L"), (slice(None), indices("N")))),
    ("nn.functional.embedding", (indices("d"), tensor("v d"))),
    ("nn.functional.embedding_bag", (indices("d T"), tensor("v d"))),
    ("gather", (tensor("- d"), 1, indices("d -"))),
    ("take_along_dim", (tensor("- d"), indices("d -"), 1)),
    ("cholesky_solve", (tensor("- b -"), tensor("b - -"))),
    ("triangular_solve", (tensor("- - d"), tensor("d - -"))),
    ("matmul", (tensor("N a b"), tensor("N b a"))),
    ("outer", (tensor("d"), tensor("d"))),
]


@pytest.mark.parametrize(("operator", "args"), CALLS)
def test_a_label_twice_is_refused(operator: str, args: tuple[Any, ...]) -> None:
    answer = infer(operator, *args)
    assert code(answer) == "NC104"
    assert "duplicate names" in str(answer.contradiction)


def test_a_label_that_may_be_twice_is_not_refused() -> None:
    looked_up = infer("nn.functional.embedding", indices("?"), tensor("v d"))
    assert names(looked_up) == (UNKNOWN, "d")


def test_native_torch_has_products_with_a_label_twice() -> None:
    product = infer("matmul", tensor("A B"), tensor("A B -"), semantics=Semantics.NATIVE)
    assert names(product) == ("A", "A", None)  # recorded: g13558
