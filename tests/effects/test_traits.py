"""The traits of rules (`@rule(memory=…)`): no rule lacks them, and all words are known."""

from __future__ import annotations

import inspect
import re
from typing import Final

import pytest

from namecheck.effects import columns
from namecheck.operators import table
from namecheck.rules import registry

# The return types of rules that contain a tensor.
TENSORS: Final = re.compile(r"\b(Dims|Tensor|Many|Maybe|Two|Three|Packed)\b")
FOLLOWED: Final = sorted({row.names for row in table().values()} & registry.load().keys())


def answers_with_tensors(name: str) -> bool:
    answer = inspect.signature(registry.load()[name]).return_annotation
    return bool(TENSORS.search(str(answer)))


@pytest.mark.parametrize("name", [name for name in FOLLOWED if answers_with_tensors(name)])
def test_a_rule_that_returns_tensors_declares_their_memory_order(name: str) -> None:
    assert registry.traits_of(name).memory, (
        f'{name}: declare @rule(memory=…), "unknown" if it varies'
    )


@pytest.mark.parametrize("name", sorted(registry.load()))
def test_what_a_rule_says_of_attributes_is_known(name: str) -> None:
    traits = registry.traits_of(name)
    assert columns.check("memory", traits.memory, None) is None
    assert traits.overlaps in ("", "refused")


def test_a_rule_without_traits_says_nothing() -> None:
    assert registry.traits_of("no_such_rule") == registry.Traits()
    assert registry.traits_of("equal") == registry.Traits()
    assert registry.traits_of("shape") == registry.Traits(counts=True)
    clamp = registry.Traits("preserves", "refused", "broadcast", broadcasts=True)
    assert registry.traits_of("clamp") == clamp
