"""The equations of sizes that hold on a path."""

from __future__ import annotations

import pytest

from namecheck.core.sizes import Known, symbol
from namecheck.interpreter.domain.equalities import Equations

A, B, C = map(symbol, "abc")
NOTHING_KNOWN = Equations((), ())


@pytest.mark.parametrize(
    ("left", "right"),
    [(A, B), (A, 1), (A, B * C), (A + C, B + C), (A + 3, B + 3), (C - B, C - A)],
    ids=str,
)
def test_the_order_of_the_sides_does_not_matter(left: Known, right: Known) -> None:
    equations = NOTHING_KNOWN.with_equal(left, right, (1,))
    assert equations.solved
    assert equations == NOTHING_KNOWN.with_equal(right, left, (1,))


def test_what_the_equations_imply_changes_nothing() -> None:
    equations = NOTHING_KNOWN.with_equal(A + C, B + C, (1,))
    assert equations.with_equal(B, A, (1,)) is equations
