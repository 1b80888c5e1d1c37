"""Sizes that follow from a successful call: ``()`` and ``1`` in a pattern of einops are size 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namecheck.core.names import Contradiction
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities
from namecheck.interpreter.domain.store import Store
from namecheck.rules import patterns


def learn(lowered: Sequence[Any], store: Store) -> None:
    """Equate the sizes of the dims at ``()`` on the left of a pattern with 1.

    `lowered` are the arguments of an einops call, among them one tensor and a pattern.
    """
    tensors = [value for value in lowered if isinstance(value, Tensor)]
    texts = [value for value in lowered if isinstance(value, str) and "->" in value]
    if len(tensors) != 1 or not texts:
        return
    try:
        left, _ = patterns.sides(texts[0])
    except Contradiction:
        return
    front, back = left.around_ellipsis()
    groups = [*enumerate(front), *zip(range(-len(back), 0), back, strict=True)]
    for position, group in groups:
        size = tensors[0].dims[position].size
        if group == () and isinstance(size, Expression):
            equalities.equate(size, 1, store)
