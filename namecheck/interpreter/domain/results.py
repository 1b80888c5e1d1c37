"""The results of an expression on several paths: tensors that nothing tells apart are one."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.cells import Fact, Written
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Alternative, Held, TensorValue, Value


def one_of(choices: Sequence[Alternative], joined_layers: Sequence[Store], store: Store) -> Value:
    """The union of what an expression gives on some paths, which have met in `store`.

    Tensors that it makes, and that nothing tells apart, are one: otherwise each option of the code
    would double the combinations of all that follows it. A tensor that was there before has other
    references, which see what is written to it.
    """
    met = [
        (inner, layer)
        for choice, layer in zip(choices, joined_layers, strict=True)
        for inner in joins.under(choice.facts, choice.value)
    ]
    if sum(isinstance(choice.value, TensorValue) for choice, _ in met) < 2:
        return joins.union(choices, store.ledger)
    distinct: list[tuple[Alternative, Store]] = []
    for choice, layer in met:
        for position, (other, other_layer) in enumerate(distinct):
            both_made = _has_made(other.value, other_layer) and _has_made(choice.value, layer)
            if both_made and _are_alike(other.value, choice.value, store):
                shared = joins.shared_facts(other.facts, choice.facts)
                distinct[position] = Alternative(other.value, shared), other_layer
                break
        else:
            distinct.append((choice, layer))
    return joins.union([choice for choice, _ in distinct], store.ledger)


def _are_alike(value: Value, other_value: Value, store: Store) -> bool:
    """Whether two values are tensors of which the same is known."""
    return (
        isinstance(value, TensorValue)
        and isinstance(other_value, TensorValue)
        and value.tags == other_value.tags
        and joins.held(value, store) == joins.held(other_value, store)
    )


def _has_made(value: Value, layer: Store) -> bool:
    """Whether a layer has made a tensor that nothing in the store refers to."""
    return (
        isinstance(value, TensorValue)
        and type(value.address) is int
        and value.address > layer.born
        and all(
            isinstance(content, Held) or isinstance(key, (Fact, Written))
            for key, content in layer.cells.items()
        )
    )
