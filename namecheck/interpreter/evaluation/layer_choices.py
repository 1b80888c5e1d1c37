"""Calls of a layer that is one of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Instance,
    ListValue,
    TorchModule,
    Union,
    Value,
    has_failed,
)
from namecheck.interpreter.evaluation.interpreter import Interpreter


def spread(
    interpreter: Interpreter,
    callee: Value,
    store: Store,
    choices: Sequence[Value],
    node: Node,
    apply: Callable[[Store, list[Value]], Value],
) -> Value:
    """Call each alternative of a callee, with each combination of the alternatives of arguments.

    Where a constructor has chosen between layers, its choice fits the arguments for reasons that
    may be out of sight here: if one of the layers takes them, nothing is held against the others
    at this call. What is wrong in a body of theirs remains, if declarations tell it. What the names
    of the code itself tell of one combination is as doubtful, whatever is called.
    """
    is_choice = _is_choice_of_layers(callee)
    if not is_choice and not interpreter.context.evidence.is_observed:
        return interpreter.spread(store, choices, apply)
    findings = interpreter.findings
    before = len(findings.entries)
    fits = False

    def attempt(layer: Store, values: list[Value]) -> Value:
        nonlocal fits
        count = len(findings.added)
        result = apply(layer, values)
        fits |= len(findings.added) == count
        return result

    result = interpreter.spread(store, choices, attempt)
    if fits:
        findings.drop_observed(before)
        if is_choice:
            source = interpreter.source
            findings.drop(before, source.filename, source.span(node))
            return _without_failed(result, store)
    return result


def _without_failed(result: Value, store: Store) -> Value:
    """The results of the layers that take the arguments: the program has chosen one of these."""
    choices = joins.alternatives(result)
    fitting = [choice for choice in choices if not has_failed(choice.value)]
    return joins.union(fitting, store.ledger) if 0 < len(fitting) < len(choices) else result


def _is_choice_of_layers(callee: Value) -> bool:
    return isinstance(callee, Union) and all(
        isinstance(choice.value, (TorchModule, Instance)) or _is_sequence(choice.value)
        for choice in callee.alternatives
    )


def _is_sequence(value: Value) -> bool:
    """Whether a value is an ``nn.Sequential``."""
    return isinstance(value, ListValue) and value.kind == "sequence"
