"""Comparisons, of two values or of more in a chain: ``0 < n < 5``, ``x.ndim == y.ndim == 3``."""

from __future__ import annotations

import ast

from namecheck.interpreter.domain import identities
from namecheck.interpreter.domain.provenance import Chain
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import TRUE, Opaque, Operand, Value
from namecheck.interpreter.evaluation import narrowing, python_operators
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter


def evaluate(
    interpreter: Interpreter, comparison: ast.Compare, store: Store, frame: Frame
) -> Value:
    """The value of a comparison: of a chain the first that fails, else the last."""
    left_node, left = comparison.left, interpreter.evaluate(comparison.left, store, frame)
    result: Value = TRUE
    undecided: list[Value] = []
    judged = interpreter.findings.judged
    last_node = comparison.comparators[-1]
    for relation, right_node in zip(comparison.ops, comparison.comparators, strict=True):
        right = interpreter.evaluate(right_node, store, frame)
        operands: list[Operand] = [(left_node, left), (right_node, right)]
        with judged.stage(right_node):
            result = python_operators.apply_to_each(
                interpreter, type(relation).__name__, comparison, operands, store, frame
            )
        truth = interpreter.truth(result, store)
        if truth is False:
            return result
        if truth is None:
            if right_node is not last_node and not undecided:
                narrowing.ask(interpreter, comparison, result, store, frame)
            undecided.append(result)
        left_node, left = right_node, right
    return _chained(undecided, result, store)


def _chained(undecided: list[Value], last_result: Value, store: Store) -> Value:
    """What a chain gives of which no comparison certainly fails, and only these are undecided."""
    kinds = set(map(python_operators.kind_of, undecided))
    if not undecided or undecided == [last_result]:
        return last_result
    if len(undecided) == 1 and kinds == {"bool"}:
        return undecided[0]
    # One of these comparisons, each of which may be of tensors.
    keys = tuple(identities.of(value, store) for value in undecided)
    return Opaque(Chain(keys), "bool" if kinds == {"bool"} else None)
